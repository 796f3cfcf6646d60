import { readdirSync, readFileSync, statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { BelljarError } from "../../../src/errors.ts";
import type { McpClient } from "../../../src/mcp/client/mcp-client.ts";
import { openCallbackListener } from "../../../src/mcp/client/oauth/callback-listener.ts";
import type { LoginReturn, OpenLoginDoor } from "../../../src/mcp/client/oauth/login-door.ts";
import { ServerLogin } from "../../../src/mcp/client/oauth/server-login.ts";
import { logInAt } from "../../support/log-in-at.ts";
import { openServers, textOf } from "../../support/mcp-client.ts";
import type { OAuthServer, OAuthServerOptions } from "../../support/oauth-server.ts";
import { openOAuthServer } from "../../support/oauth-server.ts";

interface Place extends AsyncDisposable {
  readonly far: OAuthServer;
  readonly folder: string;
  /** Everything that lies in the folder. */
  stored(): string;
  open(openLoginDoor?: OpenLoginDoor, entry?: object): Promise<McpClient>;
}

async function openPlace(options: OAuthServerOptions = {}): Promise<Place> {
  const far = await openOAuthServer(options);
  const root = await mkdtemp(join(tmpdir(), "bj-"));
  const folder = join(root, "logins");
  const logins = { folder, advice: (server: string) => `log in to ${server}` };
  return {
    far,
    folder,
    stored: () =>
      readdirSync(folder)
        .map((name) => readFileSync(join(folder, name), "utf8"))
        .join("\n"),
    open: async (openLoginDoor, entry = {}) =>
      openServers({ far: { url: far.url, ...entry } }, { logins, ...(openLoginDoor && { openLoginDoor }) }),
    async [Symbol.asyncDispose]() {
      await far[Symbol.asyncDispose]();
      await rm(root, { recursive: true });
    },
  };
}

/** A person with a browser, which really comes back to the port of loopback. */
function person({ far }: Pick<Place, "far">): OpenLoginDoor & { readonly logins: URL[] } {
  const logins: URL[] = [];
  const open: OpenLoginDoor = async (wish) => {
    const listener = await openCallbackListener(wish);
    return {
      redirectUrl: listener.redirectUrl,
      async authorize(address, signal) {
        logins.push(address);
        const back = listener.back(address.searchParams.get("state"), signal);
        const [query] = await Promise.all([back, far.browse(address).then((location) => fetch(location))]);
        return { kind: "redirect", query };
      },
      [Symbol.asyncDispose]: () => listener[Symbol.asyncDispose](),
    };
  };
  return Object.assign(open, { logins });
}

const echo = (client: McpClient) => client.callTool({ server: "far", tool: "echo", arguments: { text: "hi" } });

describe("a login", () => {
  it("is the person's once, and is found again by the next client", async () => {
    await using place = await openPlace();
    const open = person(place);
    {
      await using client = await place.open(open);
      expect(client.servers).toMatchObject([{ state: "ready" }]);
      expect(textOf(await echo(client))).toBe("hi");
    }
    await using again = await place.open();
    expect(textOf(await echo(again))).toBe("hi");
    expect(open.logins).toHaveLength(1);
    const [asked] = open.logins;
    expect(asked?.searchParams.get("code_challenge_method")).toBe("S256");
    expect(asked?.searchParams.get("resource")).toBe(place.far.url);
    expect(asked?.searchParams.get("scope")).toBe("read");
  });

  it("lies in files that only this user may read, named without anything of it", async () => {
    await using place = await openPlace();
    await using _client = await place.open(person(place));
    expect(statSync(place.folder).mode & 0o777).toBe(0o700);
    for (const name of readdirSync(place.folder)) {
      expect(name).toMatch(/^[0-9a-f]{32}\.[0-9]+\.json$/);
      expect(statSync(join(place.folder, name)).mode & 0o777).toBe(0o600);
    }
    expect(place.far.given.every((token) => place.stored().includes(token))).toBe(true);
  });

  it("is refused by an error that says how to log in, where nobody can be asked", async () => {
    await using place = await openPlace();
    await using client = await place.open();
    const [server] = client.servers;
    expect(server).toMatchObject({ state: "failed", error: { code: "UNAUTHORIZED" } });
    expect(server?.error?.message).toContain("log in to far");
    expect(place.far.asked.every((asked) => asked === "POST /mcp")).toBe(true);
  });

  it("asks the person again, and repeats the call, for a scope that is missing", async () => {
    await using place = await openPlace({ callScope: "write" });
    const open = person(place);
    await using client = await place.open(open);
    expect(textOf(await echo(client))).toBe("hi");
    expect(open.logins.map((address) => address.searchParams.get("scope"))).toEqual(["read", "read write"]);
    await using later = await place.open();
    expect(textOf(await echo(later))).toBe("hi");
  });

  it("is shared by calls that need it at once", async () => {
    await using place = await openPlace({ callScope: "write" });
    const open = person(place);
    await using client = await place.open(open);
    const answers = await Promise.all([echo(client), echo(client), echo(client)]);
    expect(answers.map(textOf)).toEqual(["hi", "hi", "hi"]);
    expect(open.logins).toHaveLength(2);
  });
});

describe("a token", () => {
  it("that the server takes no more is renewed, once for all calls of all clients", async () => {
    await using place = await openPlace();
    await using one = await place.open(person(place));
    await using other = await place.open();
    place.far.expire();
    const answers = await Promise.all([echo(one), echo(other), echo(one), echo(other)]);
    expect(answers.map(textOf)).toEqual(["hi", "hi", "hi", "hi"]);
    expect(place.far.tokenRequests.map((form) => form.get("grant_type"))).toEqual(["authorization_code", "refresh_token"]);
    expect(place.far.tokenRequests[1]?.get("resource")).toBe(place.far.url);
  });

  it("is renewed before its time is over", async () => {
    await using place = await openPlace({ lifeS: 20 });
    await using client = await place.open(person(place));
    await echo(client);
    expect(place.far.tokenRequests.at(-1)?.get("grant_type")).toBe("refresh_token");
    expect(place.far.asked.indexOf("POST /mcp", place.far.asked.indexOf("POST /token"))).toBeGreaterThan(0);
  });

  it("whose login is over is forgotten, and the error has nothing of it", async () => {
    await using place = await openPlace();
    await using _first = await place.open(person(place));
    await using client = await place.open();
    place.far.expire();
    place.far.forget();
    const error = await echo(client).catch((cause: unknown) => cause);
    expect(error).toMatchObject({ code: "UNAUTHORIZED" });
    expect(place.far.given.some((token) => place.stored().includes(token))).toBe(false);
  });

  it("goes to no other origin, whatever the server redirects to", async () => {
    await using other = await openOAuthServer();
    let moves = false;
    const answer = (path: string, response: ServerResponse): boolean => {
      if (!moves || path !== "/mcp") return false;
      response.writeHead(307, { location: other.url }).end();
      return true;
    };
    await using place = await openPlace({ answer });
    await using client = await place.open(person(place));
    moves = true;
    await expect(echo(client)).rejects.toThrow(BelljarError);
    expect(other.asked).toEqual([]);
  });
});

describe("entries with auth", () => {
  it.each([
    ["bearer", { type: "bearer", token: "${TOKEN}" }, "authorization", "Bearer t0ken"],
    ["header", { type: "header", name: "X-Key", value: "${TOKEN}" }, "x-key", "t0ken"],
  ])("of the type %s send their value as a header, and know no login", async (_type, auth, header, value) => {
    const seen = new Set<unknown>();
    await using place = await openPlace({
      answer(path, response) {
        if (path === "/mcp") seen.add(response.req.headers[header]);
        return false;
      },
    });
    await using client = await place.open(person(place), { auth });
    expect([...seen]).toEqual([value]);
    expect(client.servers).toMatchObject([{ state: "failed", error: { code: "UNAUTHORIZED" } }]);
    expect(place.far.asked).not.toContain("GET /authorize");
  });

  it("use the client that they name, with its scopes, and register none", async () => {
    await using place = await openPlace({ answer: (path, response, own) => path === "/authorize" && mine(response, own) });
    const mine = (response: ServerResponse, own: OAuthServer): boolean => {
      const { searchParams } = new URL(response.req.url ?? "", own.origin);
      const back = new URL(searchParams.get("redirect_uri") ?? "");
      back.search = new URLSearchParams({ error: "access_denied", state: searchParams.get("state") ?? "", iss: own.origin }).toString();
      response.writeHead(302, { location: back.href }).end();
      return true;
    };
    const open = person(place);
    const auth = { type: "oauth", clientId: "me-${TOKEN}", scope: ["a", "b"] };
    await using client = await place.open(open, { auth });
    expect(client.servers[0]?.error?.message).toContain("access_denied");
    expect(open.logins[0]?.searchParams.get("client_id")).toBe("me-t0ken");
    expect(open.logins[0]?.searchParams.get("scope")).toBe("a b");
    expect(place.far.asked).not.toContain("POST /register");
  });

  it.each([
    [{ type: "bearer" }, "auth.token"],
    [{ type: "header", name: "X" }, "auth.value"],
    [{ type: "oauth", callbackPort: 0 }, "auth.callbackPort"],
    [{ type: "oauth", clientDocument: "http://x/y" }, "auth.clientDocument"],
  ])("that are wrong are told with the field: %j", async (auth, field) => {
    await using place = await openPlace();
    await using client = await place.open(undefined, { auth });
    expect(client.servers[0]?.error).toMatchObject({ code: "CONFIG_INVALID" });
    expect(client.servers[0]?.error?.message).toContain(field);
  });
});

const send =
  (path: string, body: unknown, status = 200) =>
  (asked: string, response: ServerResponse): boolean => {
    if (asked !== path) return false;
    response.writeHead(status, { "content-type": "application/json" }).end(typeof body === "string" ? body : JSON.stringify(body));
    return true;
  };
const AS = "/.well-known/oauth-authorization-server";
const RESOURCE = "/.well-known/oauth-protected-resource/mcp";

/** Each is tried against a person who would say yes. */
const HOSTILE: readonly (readonly [string, OAuthServerOptions, RegExp])[] = [
  ["a redirect of another login", { redirect: (query) => query.set("state", "other") }, /another login/],
  ["a redirect without a state", { redirect: (query) => query.delete("state") }, /another login/],
  ["a redirect of another issuer", { redirect: (query) => query.set("iss", "https://evil.example") }, /not of the authorization server/],
  ["a redirect without an issuer that was promised", { redirect: (query) => query.delete("iss") }, /not of the authorization server/],
  ["a redirect without a code", { redirect: (query) => query.delete("code") }, /without a code/],
  [
    "metadata of another issuer",
    { metadata: (plain) => ({ ...plain, issuer: "https://evil.example" }) },
    /not of the authorization server/,
  ],
  ["no PKCE", { metadata: ({ code_challenge_methods_supported: _none, ...plain }) => plain }, /PKCE/],
  ["PKCE without a hash", { metadata: (plain) => ({ ...plain, code_challenge_methods_supported: ["plain"] }) }, /PKCE/],
  ["metadata of another resource", { answer: send(RESOURCE, { resource: "https://bank.example/mcp" }) }, /another resource/],
  ["metadata that are no JSON", { answer: send(AS, "<html>") }, /something else/],
  ["endless metadata", { answer: send(AS, `{"a":"${"x".repeat(300_000)}"}`) }, /262144 bytes/],
  ["metadata at a redirect elsewhere", { answer: redirectTo("http://169.254.169.254/latest") }, /has no metadata/],
  [
    "a token endpoint without TLS",
    { metadata: (plain) => ({ ...plain, token_endpoint: "http://10.0.0.1/token" }) },
    /something else|no TLS/,
  ],
  ["the metadata service of a cloud", { metadata: (plain) => ({ ...plain, token_endpoint: "https://169.254.169.254/token" }) }, /nearer/],
  [
    "a browser that runs a script",
    { metadata: (plain) => ({ ...plain, authorization_endpoint: "javascript:alert(1)" }) },
    /something else/,
  ],
  ["a browser without TLS", { metadata: (plain) => ({ ...plain, authorization_endpoint: "http://evil.example/a" }) }, /evil\.example/],
  ["a token that splits a header", { answer: send("/token", { access_token: "a\r\nX: 1", token_type: "Bearer" }) }, /cannot be sent/],
  ["a token of another kind", { answer: send("/token", { access_token: "a", token_type: "DPoP" }) }, /cannot be sent/],
  ["a token endpoint that fails", { answer: send("/token", "oops", 500) }, /failed at the code/],
  ["a registration that is refused", { answer: send("/register", { error: "invalid_redirect_uri" }, 400) }, /auth\.clientId/],
];

function redirectTo(location: string) {
  return (path: string, response: ServerResponse): boolean => {
    if (path !== AS) return false;
    response.writeHead(302, { location }).end();
    return true;
  };
}

/** A person who pastes whatever address the browser ends up at. */
function pastingPerson({ far }: Pick<Place, "far">): OpenLoginDoor {
  return async () => ({
    redirectUrl: "http://127.0.0.1:1/callback",
    authorize: async (address) => ({ kind: "redirect", query: (await far.browse(address)).searchParams }),
    [Symbol.asyncDispose]: async () => undefined,
  });
}

it.each(HOSTILE)("refuses %s", async (_what, options, said) => {
  await using place = await openPlace(options);
  await using client = await place.open(pastingPerson(place));
  const [server] = client.servers;
  expect(server).toMatchObject({ state: "failed" });
  expect(server?.error?.message).toMatch(said);
  expect(place.far.given.some((token) => server?.error?.message.includes(token))).toBe(false);
});

it("takes no code that a person pastes where the issuer must say who it is", async () => {
  const door =
    (far: OAuthServer): OpenLoginDoor =>
    async () => ({
      redirectUrl: "http://127.0.0.1:1/callback",
      authorize: async (address): Promise<LoginReturn> => ({
        kind: "code",
        code: (await far.browse(address)).searchParams.get("code") ?? "",
      }),
      [Symbol.asyncDispose]: async () => undefined,
    });
  await using strict = await openPlace();
  await using refused = await strict.open(door(strict.far));
  expect(refused.servers[0]?.error?.message).toContain("paste the whole address");
  await using lax = await openPlace({ metadata: (plain) => ({ ...plain, authorization_response_iss_parameter_supported: false }) });
  await using client = await lax.open(door(lax.far));
  expect(textOf(await echo(client))).toBe("hi");
});

describe("a login that another process changes", () => {
  const server = (place: Place) =>
    new ServerLogin({ name: "far", url: new URL(place.far.url) }, { isAsked: true }, { folder: place.folder, advice: () => "" });

  it("is noticed by whoever watches it, with its next token; its own renewal is nothing new", async () => {
    await using place = await openPlace({ lifeS: 1 });
    const watching = server(place);
    const heard: (string | undefined)[] = [];
    const waiting: (() => void)[] = [];
    const changed = (): void => {
      void watching.token().then((token) => (heard.push(token), waiting.splice(0).forEach((tell) => tell())));
    };
    const watch = await watching.watch({ changed, failed: (cause) => heard.push(String(cause)) });
    try {
      expect(await watching.token()).toBeUndefined();
      const told = new Promise<void>((resolve) => void waiting.push(resolve));
      await logInAt(place.far, place.folder);
      await told;
      // It lives so shortly that asking for it renews it.
      expect(heard).toEqual([place.far.given.at(-2)]);
      const renewed = await watching.token();
      const another = new Promise<void>((resolve) => void waiting.push(resolve));
      await logInAt(place.far, place.folder);
      await another;
      expect(heard).toHaveLength(2);
      expect(heard).not.toContain(renewed);
    } finally {
      watch.close();
    }
  });

  it("counts for whoever does not watch it once it is to look again", async () => {
    await using place = await openPlace();
    const other = server(place);
    expect(await other.token()).toBeUndefined();
    const login = await logInAt(place.far, place.folder);
    expect(await other.token()).toBeUndefined();
    other.reread();
    expect(await other.token()).toBe(await login.token());
  });

  it("during its renewal is as the other process left it: over, or another one", async () => {
    let meanwhile = async (): Promise<void> => undefined;
    await using place = await openPlace({ lifeS: 20, renewing: async () => meanwhile() });
    await logInAt(place.far, place.folder);
    meanwhile = async () => void (await server(place).logOut());
    expect(await server(place).token()).toBeUndefined();
    expect(place.far.given.some((token) => place.stored().includes(token))).toBe(false);
    await logInAt(place.far, place.folder);
    let newer: readonly string[] = [];
    meanwhile = async () => {
      await logInAt(place.far, place.folder);
      newer = place.far.given.slice(-2);
    };
    expect(await server(place).token()).toBe(newer[0]);
    expect(newer.every((token) => place.stored().includes(token))).toBe(true);
  });
});
