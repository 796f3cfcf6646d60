import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import type { OpenLoginDoor } from "../../src/mcp/client/oauth/login-door.ts";
import { clientLogins, serverLogins } from "../../src/cli/compose/server-logins.ts";
import { readHubFile } from "../../src/mcp/proxy/hub-file.ts";
import { LOCAL, type Principal } from "../../src/sandbox/sandbox.ts";
import { openHubLab } from "../support/hub-lab.ts";
import { logInAt } from "../support/log-in-at.ts";
import { openServers } from "../support/mcp-client.ts";
import type { OAuthServer } from "../support/oauth-server.ts";
import { openOAuthServer } from "../support/oauth-server.ts";
import { textOf } from "../support/tools-lab.ts";
import { verifies } from "./verifies.ts";

const ANN: Principal = { id: "token:ann", name: "ann", grants: {} };

/** A person who agrees to everything. */
function person(far: OAuthServer): OpenLoginDoor {
  return async () => ({
    redirectUrl: "http://127.0.0.1:1/callback",
    authorize: async (address) => ({ kind: "redirect", query: (await far.browse(address)).searchParams }),
    [Symbol.asyncDispose]: async () => undefined,
  });
}

verifies("logins-go-to-their-servers", async () => {
  await using other = await openOAuthServer();
  let attack: ((path: string, response: ServerResponse) => boolean) | undefined;
  let redirect: ((query: URLSearchParams) => void) | undefined;
  await using far = await openOAuthServer({
    answer: (path, response) => attack?.(path, response) === true,
    redirect: (query) => redirect?.(query),
  });
  const root = await mkdtemp(join(tmpdir(), "bj-logins-"));
  const logins = { folder: join(root, "logins"), advice: () => "log in" };
  const messages: unknown[] = [];
  const open = async (openLoginDoor?: OpenLoginDoor) =>
    openServers(
      { far: { url: far.url } },
      { logins, onMessage: (message) => messages.push(message), ...(openLoginDoor && { openLoginDoor }) },
    );
  const call = async (client: Awaited<ReturnType<typeof open>>) =>
    client.callTool({ server: "far", tool: "echo", arguments: { text: "hi" } }).catch((error: unknown) => error);
  try {
    redirect = (query) => query.set("state", "of another login");
    await using refused = await open(person(far));
    expect(refused.servers).toMatchObject([{ error: { code: "UNAUTHORIZED" } }]);
    redirect = (query) => query.set("iss", other.origin);
    await using mixedUp = await open(person(far));
    expect(mixedUp.servers).toMatchObject([{ error: { code: "SERVER_INCOMPATIBLE" } }]);
    expect(far.tokenRequests, "no code was sent").toEqual([]);

    redirect = undefined;
    await using client = await open(person(far));
    expect(await call(client), "the same person logs in where nothing is wrong").toMatchObject({ content: [{ text: "hi" }] });

    attack = (path, response) => path === "/mcp" && moved(response, other.url);
    const sentAway = await call(client);
    expect(other.asked, "a token was not taken elsewhere").toEqual([]);

    // Another issuer takes the place of the one that gave the refresh token.
    attack = (path, response) => {
      if (path !== "/.well-known/oauth-protected-resource/mcp") return false;
      response.end(JSON.stringify({ resource: far.url, authorization_servers: [other.origin] }));
      return true;
    };
    far.expire();
    await using later = await open();
    const moved2 = later.servers[0]?.error;
    expect(moved2).toMatchObject({ code: "UNAUTHORIZED" });
    expect(other.tokenRequests, "a refresh token was not taken elsewhere").toEqual([]);

    const said = `${String(sentAway)}${moved2?.message}${JSON.stringify(messages)}`;
    for (const token of far.given) expect(said).not.toContain(token);
    const files = (await readdir(logins.folder)).map((name) => join(logins.folder, name));
    for (const path of [logins.folder, ...files]) expect((await stat(path)).mode & 0o077).toBe(0);
  } finally {
    await rm(root, { recursive: true });
  }
});

verifies(
  "logins-go-to-their-servers",
  async () => {
    await using other = await openOAuthServer();
    let attack: ((path: string, response: ServerResponse) => boolean) | undefined;
    await using far = await openOAuthServer({ answer: (path, response) => attack?.(path, response) === true });
    const root = await mkdtemp(join(tmpdir(), "bj-logins-"));
    const folder = clientLogins(root);
    try {
      const entry = { url: far.url, auth: { type: "oauth" } };
      const logins = serverLogins({ home: root });
      await using lab = await openHubLab({ far: entry }, { logins });
      const state = (principal = LOCAL, named = "far") => lab.hub.servers(principal).find(({ name }) => name === named)?.state;
      const call = () => lab.call("mcp_far_echo", { text: "hi" });
      await logInAt(far, folder);
      await lab.until(() => state() === "ready");
      expect(textOf(await call()), "a call has the token where nothing is wrong").toBe("hi");

      const scope = { env: {}, workspaceFolder: "/", userHome: "/", inputs: new Map<string, string>(), lookOnHost: () => undefined };
      lab.hub.set(ANN.id, await readHubFile(JSON.stringify({ mcpServers: { far: entry } }), "ann.json", scope));
      await lab.until(() => state(ANN) === "needs_login");
      expect(lab.names(ANN), "another owner has nothing of a login that is not hers").toEqual([]);
      const reachable = { ...entry, network: { allow: [new URL(far.url).host] } };
      const { servers } = await readHubFile(JSON.stringify({ mcpServers: { far: entry, sly: reachable } }), "mcp.json", scope);
      const sly = servers.filter(({ name }) => name === "sly").map((server) => ({ ...server, isOfNetwork: true as const }));
      lab.hub.set(LOCAL.id, { servers: [...servers.filter(({ name }) => name === "far"), ...sly], unusable: [] });
      await lab.until(() => state(LOCAL, "sly") === "needs_login");
      expect(
        lab.names().filter((name) => name.includes("sly")),
        "nor has what came over HTTP",
      ).toEqual([]);
      expect(textOf(await call())).toBe("hi");

      attack = (path, response) => path === "/mcp" && moved(response, other.url);
      const sentAway = await call();
      await lab.hub.restart(LOCAL, "far");
      expect(sentAway.isError).toBe(true);
      expect(
        other.asked.filter((asked) => asked !== "POST /mcp"),
        "nobody logs in where a token was sent away",
      ).toEqual([]);
      expect(other.credentials, "a token was not taken elsewhere").toEqual([]);

      // Another issuer takes the place of the one that gave the refresh token.
      attack = (path, response) => {
        if (path !== "/.well-known/oauth-protected-resource/mcp") return false;
        response.end(JSON.stringify({ resource: far.url, authorization_servers: [other.origin] }));
        return true;
      };
      far.expire();
      await lab.hub.restart(LOCAL, "far");
      expect(state()).toBe("needs_login");
      expect(other.tokenRequests, "a refresh token was not taken elsewhere").toEqual([]);

      const infos = [lab.hub.servers(LOCAL), lab.hub.details(LOCAL, "far"), lab.hub.logs(LOCAL, "far"), lab.problems, lab.audited];
      const said = JSON.stringify([infos, sentAway, await call()]);
      for (const token of far.given) expect(said).not.toContain(token);
      const files = (await readdir(folder)).map((name) => join(folder, name));
      for (const path of [folder, ...files]) expect((await stat(path)).mode & 0o077).toBe(0);
    } finally {
      await rm(root, { recursive: true });
    }
  },
  60_000,
);

function moved(response: ServerResponse, location: string): boolean {
  response.writeHead(307, { location }).end();
  return true;
}
