import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { LOCAL, type Principal } from "../../../src/sandbox/sandbox.ts";
import { type OAuthServer, type OAuthServerOptions, openOAuthServer } from "../../support/oauth-server.ts";
import { openServersLab, type ServersLab } from "../../support/servers-lab.ts";
import { textOf } from "../../support/tools-lab.ts";

const LOGIN = "POST /v1/servers/far/login";

interface Place extends AsyncDisposable {
  readonly far: OAuthServer;
  readonly lab: ServersLab;
  /** Of Ann, who may have the server. */
  readonly token: string;
  readonly ann: Principal;
  readonly state: () => string | undefined;
  readonly login: (body: object, token?: string) => ReturnType<ServersLab["ask"]>;
}

/** A server that wants a login, added over HTTP. */
async function openPlace(options: OAuthServerOptions = {}, entry: object = {}): Promise<Place> {
  const far = await openOAuthServer(options);
  const lab = await openServersLab();
  const rule = far.origin.replace("http://", "");
  const token = await lab.token("ann", "servers", "toolset:mcp", `network:${rule}`);
  const ann: Principal = { id: "token:ann", name: "ann", grants: { managesServers: true, network: { allow: [rule] } } };
  const state = () => lab.servers.servers(ann)[0]?.state;
  await lab.ask("POST /v1/servers", { name: "far", url: far.url, ...entry }, token);
  await lab.until(() => state() === "needs_login");
  return {
    far,
    lab,
    token,
    ann,
    state,
    login: (body, other = token) => lab.ask(LOGIN, body, other),
    async [Symbol.asyncDispose]() {
      await lab[Symbol.asyncDispose]();
      await far[Symbol.asyncDispose]();
    },
  };
}

it("logs in with two requests and any browser, and the server serves with the second answer", async () => {
  await using place = await openPlace();
  const { far, lab, ann } = place;
  const begun = await place.login({});
  expect(begun).toMatchObject({ status: 200, answer: { status: "waiting", redirectUri: "http://127.0.0.1:33418/callback" } });
  const address = new URL(String(begun.answer["authorizationUrl"]));
  expect([address.searchParams.get("code_challenge_method"), address.searchParams.get("state")]).toEqual(["S256", begun.answer["state"]]);
  expect(JSON.stringify(begun.answer), "the verifier stays here").not.toContain("verifier");
  const back = await far.browse(address);
  expect(await place.login({ redirect: back.href })).toMatchObject({
    status: 200,
    answer: { status: "done", server: { name: "far", state: "ready", tools: ["mcp_far_echo"] } },
  });
  expect(textOf(await lab.call("mcp_far_echo", { text: "hi" }, ann))).toBe("hi");
  expect(await place.login({ redirect: back.href }), "a login is finished once").toMatchObject({
    status: 404,
    answer: { error: { code: "LOGIN_NOT_FOUND" } },
  });
}, 60_000);

it("comes back to a page of the caller's own, which sends the parts", async () => {
  await using place = await openPlace();
  const redirectUri = "https://app.example/back?from=belljar";
  const { answer } = await place.login({ redirectUri, scope: "write" });
  expect(answer["redirectUri"]).toBe(redirectUri);
  const back = await place.far.browse(String(answer["authorizationUrl"]));
  expect(back.href.startsWith("https://app.example/back?")).toBe(true);
  const { code, state, iss } = Object.fromEntries(back.searchParams);
  expect(await place.login({ code, state, iss })).toMatchObject({ status: 200, answer: { status: "done", server: { state: "ready" } } });
  expect(place.far.tokenRequests[0]?.get("redirect_uri")).toBe(redirectUri);
  // The next one leads to no page that an earlier caller named.
  expect((await place.login({})).answer["redirectUri"]).toBe("http://127.0.0.1:33418/callback");
}, 60_000);

it("ends the login that waits when another one begins", async () => {
  await using place = await openPlace();
  const first = await place.far.browse(String((await place.login({})).answer["authorizationUrl"]));
  const second = await place.far.browse(String((await place.login({})).answer["authorizationUrl"]));
  expect(await place.login({ redirect: first.href })).toMatchObject({ status: 404 });
  expect(await place.login({ redirect: second.href })).toMatchObject({ answer: { status: "done" } });
}, 60_000);

it("says what the authorization server refuses, as no failure of the caller's token", async () => {
  const redirect = (query: URLSearchParams): void => {
    query.delete("code");
    query.set("error", "access_denied");
  };
  await using place = await openPlace({ redirect });
  const back = await place.far.browse(String((await place.login({})).answer["authorizationUrl"]));
  expect(await place.login({ redirect: back.href })).toMatchObject({
    status: 502,
    answer: { error: { code: "SERVER_REFUSED", message: expect.stringContaining("access_denied") as string } },
  });
  expect(place.state()).toBe("needs_login");
}, 60_000);

it.each([
  [{ redirectUri: "http://evil.example/back" }, 400],
  [{ redirectUri: "javascript:alert(1)" }, 400],
  [{ redirectUri: "https://user:pw@app.example/" }, 400],
  [{ redirectUri: "https://app.example/#x" }, 400],
  [{ redirectUri: "https://app.example/", code: "c" }, 400],
  [{ code: "c" }, 400],
  [{ state: "s" }, 400],
  [{ other: 1 }, 400],
  [{ redirect: "no address" }, 404],
  [{ code: "c", state: "s" }, 404],
])(
  "refuses %j",
  async (body, status) => {
    await using place = await openPlace();
    expect(await place.login(body)).toMatchObject({ status });
    expect(place.far.asked.filter((asked) => asked.includes("/register") || asked.includes("/token"))).toEqual([]);
  },
  60_000,
);

it("knows no login of a server whose headers say who calls", async () => {
  await using place = await openPlace();
  await place.lab.ask("POST /v1/servers", { name: "held", url: place.far.url, headers: { Authorization: "Bearer x" } }, place.token);
  expect(await place.lab.ask("POST /v1/servers/held/login", {}, place.token)).toMatchObject({ status: 501 });
  expect(await place.lab.ask("POST /v1/servers/none/login", {}, place.token)).toMatchObject({ status: 404 });
}, 60_000);

it("leaves a server that a person named at the machine to the command line", async () => {
  await using far = await openOAuthServer();
  const folder = await mkdtemp(join(tmpdir(), "bj-rest-login-"));
  const file = join(folder, "mcp.json");
  await writeFile(file, JSON.stringify({ mcpServers: { far: { url: far.url } } }));
  try {
    await using lab = await openServersLab({ file });
    await lab.until(() => lab.servers.servers(LOCAL)[0]?.state === "needs_login");
    expect(await lab.ask(LOGIN, {})).toMatchObject({
      status: 403,
      answer: { error: { message: expect.stringContaining("server login far") as string } },
    });
    const network = { allow: [far.origin.replace("http://", "")] };
    await lab.ask("POST /v1/servers", { name: "sent", url: far.url, network });
    await lab.until(() => lab.servers.servers(LOCAL).find(({ name }) => name === "sent")?.state === "needs_login");
    expect(await lab.ask("POST /v1/servers/sent/login", {})).toMatchObject({ status: 200 });
  } finally {
    await rm(folder, { recursive: true });
  }
}, 60_000);
