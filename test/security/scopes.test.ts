import { once } from "node:events";
import { connect } from "node:net";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect, it } from "vitest";
import { openProtectedResource } from "../../src/gateway/auth/oauth/protected-resource.ts";
import { parseScopes } from "../../src/gateway/auth/scopes.ts";
import type { Route } from "../../src/gateway/routes/route.ts";
import type { ServedRoute } from "../../src/gateway/routes/routes.ts";
import { openOAuthIssuer } from "../support/oauth-issuer.ts";
import type { TeamLab } from "../support/team-lab.ts";
import { storeTemplate } from "../support/store-template.ts";
import { openTeamLab } from "../support/team-lab.ts";
import { textOf } from "../support/tool-caller.ts";
import { verifies } from "./verifies.ts";

const AUDIENCE = "https://belljar.example.com/mcp";
const soon = (): AbortSignal => AbortSignal.timeout(30_000);

/** All that a caller without a token is served. */
const OPEN = [
  "/.well-known/oauth-protected-resource",
  "/.well-known/oauth-protected-resource/mcp",
  "/health",
  "/mcp/health",
  "/openapi.json",
  "/ready",
].flatMap((path) => [`GET ${path}`, `HEAD ${path}`]);

/** Any token may enter here; what it finds is judged by the next test. */
const DOORS = [
  "DELETE /mcp",
  "GET /mcp",
  "HEAD /mcp",
  "POST /mcp",
  "GET /sse",
  "HEAD /sse",
  "POST /messages",
  ...["", "/mcp"].flatMap((prefix) => [`GET ${prefix}/tools`, `HEAD ${prefix}/tools`, `POST ${prefix}/tools/call`]),
];

interface Lab extends AsyncDisposable {
  readonly team: TeamLab;
  /** An id of Alice, whose tokens all are. */
  readonly sandbox: string;
  token(...scopes: string[]): Promise<string>;
  /** An access token that has run out. */
  readonly expired: string;
  readonly revoked: string;
}

/** A server that others reach, with every route, and tokens of one owner. */
async function openLab(): Promise<Lab> {
  const issuer = await openOAuthIssuer({ audience: AUDIENCE });
  const team = await openTeamLab({
    host: "0.0.0.0",
    states: true,
    oauth: openProtectedResource({ issuer: issuer.issuer, audience: AUDIENCE }),
  });
  const { id, token: revoked } = await team.tokens.create("alice", []);
  await team.tokens.revoke(id);
  const now = Math.floor(Date.now() / 1_000);
  return {
    team,
    sandbox: (await team.sandboxes.create(team.alice.principal, {}, soon())).id,
    token: async (...scopes) => (await team.tokens.create("alice", scopes)).token,
    expired: await issuer.token({ iat: now - 600, exp: now - 300 }),
    revoked,
    async [Symbol.asyncDispose]() {
      await team[Symbol.asyncDispose]();
      await issuer[Symbol.asyncDispose]();
    },
  };
}

/** The status line and all that follows, of one request as it is written here. */
async function send(url: string, { method, path }: { method: string; path: string }, headers: Readonly<Record<string, string>>) {
  const { hostname, port } = new URL(url);
  const body = ["POST", "PUT", "PATCH"].includes(method) ? "{}" : "";
  const type = path.startsWith("/add_mcp_tool") ? "text/plain" : "application/json";
  const socket = connect({ host: hostname, port: Number(port) });
  const all = { Host: `${hostname}:${port}`, Connection: "close", "Content-Type": type, ...headers };
  const lines = Object.entries({ ...all, "Content-Length": String(body.length) }).map(([name, value]) => `${name}: ${value}`);
  socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n${body}`);
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => {
    chunks.push(chunk);
    const [head = "", content] = Buffer.concat(chunks).toString().split("\r\n\r\n", 2);
    const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0);
    // Neither a stream nor a connection that is kept ends by itself.
    if (content !== undefined && (method === "HEAD" || content.length >= length)) socket.destroy();
  });
  socket.on("error", () => undefined);
  await once(socket, "close");
  const text = Buffer.concat(chunks).toString();
  return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]), text };
}

const bearer = (token: string | undefined): Record<string, string> => (token === undefined ? {} : { Authorization: `Bearer ${token}` });

type Asked = Pick<ServedRoute, "method" | "path" | "access"> & { readonly name: string };

const upgradeTo = (protocol: string): Record<string, string> => ({ Connection: "Upgrade", Upgrade: protocol });
const isUpgraded = ({ path }: Asked): boolean => path.endsWith("/guest");

/** As a plain request, and as one that some clients make of it. */
async function walkRequests({ team, expired, revoked, ...lab }: Lab, routes: readonly Asked[]): Promise<void> {
  const [foreign, reader] = [await lab.token("toolset:todo"), await lab.token("read-only")];
  for (const headers of [{}, upgradeTo("h2c")]) {
    for (const asked of routes) {
      const { access, name } = asked;
      const ask = (token?: string) => send(team.url, asked, { ...headers, ...bearer(token) });
      for (const token of [undefined, expired, revoked]) expect((await ask(token)).status === 401, name).toBe(access.kind !== "open");
      if (access.kind !== "scoped") continue;
      const { status, text } = await ask(foreign);
      expect(status, name).toBe(403);
      if (asked.method !== "HEAD") expect(text, name).toContain(`no scope ${access.scopes.join(" and no scope ")}`);
      expect((await ask(reader)).status === 403, name).toBe(access.changes);
    }
  }
}

/** Nothing is upgraded for them, wherever they ask. */
async function walkUpgrades({ team, expired, revoked, ...lab }: Lab, routes: readonly Asked[]): Promise<void> {
  const narrow = [await lab.token("toolset:todo"), await lab.token("read-only"), await lab.token("toolset:todo", "read-only")];
  for (const protocol of ["belljar-guest", "websocket"]) {
    for (const asked of routes) {
      const ask = async (token?: string) => (await send(team.url, asked, { ...upgradeTo(protocol), ...bearer(token) })).status;
      for (const token of [undefined, expired, revoked]) expect(await ask(token), asked.name).toBe(401);
      const refused = !isUpgraded(asked) ? 404 : protocol === "websocket" ? 400 : 403;
      for (const token of narrow) expect(await ask(token), asked.name).toBe(refused);
    }
  }
}

/** Of which the walk makes none. The answer to HEAD has no text that says so. */
const NOT_MADE = ["/builds/:id", "/v1/tools/:name"];

/** The same requests are served to who has the scopes that they ask for. */
async function walkServed({ team, ...lab }: Lab, routes: readonly Asked[]): Promise<void> {
  for (const asked of routes) {
    if (asked.access.kind !== "scoped" || asked.method === "DELETE") continue;
    const headers = isUpgraded(asked) ? upgradeTo("belljar-guest") : {};
    const { status, text } = await send(team.url, asked, {
      ...headers,
      ...bearer(await lab.token(...asked.access.scopes, "tools:publish")),
    });
    // Some need more than an empty body, name what there is not, or ask for what the fake runtime does not have.
    const isJudged =
      status === 501 ||
      (status === 404 && (NOT_MADE.some((path) => asked.name.includes(path)) || text.includes('"code":"CONTEXT_NOT_FOUND"')));
    expect(isJudged ? 400 : status, `${asked.name} ${text}`).toSatisfy((answered: number) => [101, 200, 201, 204, 400].includes(answered));
  }
}

verifies(
  "routes-need-their-scope",
  async () => {
    await using lab = await openLab();
    const { team } = lab;
    const snapshot = await team.sandboxes.snapshots.create(team.alice.principal, lab.sandbox, {}, soon());
    await storeTemplate(team.home, { owner: team.alice.principal.id, name: "x" });
    const routes = team.gateway.routes.map((route) => ({
      ...route,
      name: `${route.method} ${route.path}`,
      path: route.path.replace(":id", lab.sandbox).replace(":snapshot", snapshot.id).replace(":name", "x"),
    }));
    const named = (kind: string): string[] => routes.flatMap(({ access, name }) => (access.kind === kind ? [name] : []));
    expect(named("open").toSorted()).toEqual(OPEN.toSorted());
    expect(named("door").toSorted()).toEqual(DOORS.toSorted());
    expect(named("scoped").length).toBeGreaterThan(25);
    const asked = routes.filter((route) => !isUpgraded(route));
    await walkRequests(lab, asked);
    await walkUpgrades(lab, routes);
    expect((await team.sandboxes.info(team.alice.principal, lab.sandbox)).state).toBe("running");
    await walkServed(lab, routes);
  },
  120_000,
);

it("serves no other spelling of a route to who may not have the route", async () => {
  await using lab = await openLab();
  const foreign = await lab.token("toolset:todo");
  const spellings = [
    "/v1/secrets/",
    "//v1/secrets",
    "/V1/SECRETS",
    "/v1/%73ecrets",
    "/v1/secrets;x",
    "/v1/./secrets",
    "/v1/x/../secrets",
    "/v1%2fsecrets",
    "/v1/secrets?a=/mcp",
    "/v1/secrets#/mcp",
    "/mcp/../v1/secrets",
    "/tools/../metrics",
    "/METRICS",
    "/metrics/",
    "/metrics?",
    "/health/../metrics",
    `http://127.0.0.1/metrics`,
    `/v1/sandboxes/${lab.sandbox}/`,
    `/v1/sandboxes/${lab.sandbox}%2fusage`,
    `/v1//sandboxes/${lab.sandbox}/usage`,
  ];
  for (const path of spellings) {
    const { status, text } = await send(lab.team.url, { method: "GET", path }, bearer(foreign));
    expect([400, 403, 404], `${path} ${text}`).toContain(status);
  }
});

it("throws at start for a route that asks for no scope, a plugin's too", async () => {
  const { fastify } = await import("fastify");
  const { addRoutes, requireAccess } = await import("../../src/gateway/routes/routes.ts");
  const app = fastify();
  requireAccess(app);
  expect(() => app.get("/hole", async () => "open")).toThrow(/GET \/hole does not say which scope it needs/);
  const plugged = fastify();
  requireAccess(plugged);
  void plugged.register(async (inner) => void inner.post("/plugin", { config: {} }, async () => "open"));
  await expect(plugged.ready()).rejects.toThrow(/POST \/plugin does not say/);
  const typed = fastify();
  requireAccess(typed);
  // @ts-expect-error -- a route without its access is no route
  const untyped: Route = { method: "GET", path: "/untyped", summary: "A hole", answers: { 200: null }, handle: async () => "open" };
  expect(() => addRoutes(typed, [untyped], () => async () => "open")).toThrow(/GET \/untyped does not say/);
});

verifies("tokens-see-their-toolsets", async () => {
  await using lab = await openLab();
  const { team, sandbox } = lab;
  const { alice, catalog, resources } = team;
  await (await team.sandboxes.get(alice.principal, sandbox)).guest.files.write("note", "of Alice", { signal: soon() });
  const result = catalog.results.keep(alice.principal, "of a tool that may not be called");
  const uris = [
    "belljar://sandboxes/",
    `belljar://sandboxes/${sandbox}`,
    `belljar://sandboxes/${sandbox}/files/home/user/note`,
    "belljar://templates/",
  ];
  for (const uri of [...uris, result]) await resources.read({ principal: alice.principal, signal: soon() }, uri);
  const principal = { ...alice.principal, grants: parseScopes(["toolset:todo"]) };
  const asker = { principal, signal: soon() };
  for (const uri of uris) {
    for (const ask of [() => resources.read(asker, uri), () => resources.watch(asker, uri)])
      await expect(ask(), uri).rejects.toMatchObject({ code: "FORBIDDEN", message: expect.stringMatching(/toolset:(sandbox|files)/) });
  }
  await expect(resources.read(asker, result)).rejects.toMatchObject({ code: "RESOURCE_NOT_FOUND" });
  expect(await resources.list(principal)).toEqual({ resources: [] });
  for (const { uriTemplate } of resources.templates(principal))
    for (const name of ["id", "path", "name"])
      expect(await resources.complete(asker, uriTemplate, { name, value: "", given: { id: sandbox } })).toEqual({ values: [] });
  const call = async (name: string, args: object) => textOf(await catalog.call(principal, name, args, { signal: soon() }));
  for (const name of catalog.listAll(alice.principal).map((tool) => tool.name)) {
    const { length } = catalog.listAll(principal).filter((tool) => tool.name === name);
    if (length > 0) continue;
    expect(await call(name, {})).toMatch(/^FORBIDDEN: .*no scope toolset:/);
    expect(await call("call_tool", { name, arguments: {} })).toMatch(/^FORBIDDEN/);
    expect(await call("describe_tool", { name })).toMatch(/^FORBIDDEN/);
  }
  expect(await call("search_tools", { query: "run a shell command and read files" })).not.toMatch(/run_command|read_file|sandbox_exec/);
  const told: string[] = [];
  const stop = resources.onUpdate((concerns, uri) => void (concerns(principal) && told.push(uri)));
  await (await team.sandboxes.get(alice.principal, sandbox)).kill();
  stop();
  expect(told).toEqual([]);
});

it("gives a session to the token that opened it alone, whatever is asked in it", async () => {
  await using lab = await openLab();
  const { team } = lab;
  const transport = new StreamableHTTPClientTransport(new URL("/mcp", team.url), { requestInit: { headers: bearer(team.alice.token) } });
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode: "legacy" } });
  await client.connect(transport);
  const session = transport.sessionId ?? "";
  expect(session).not.toBe("");
  const methods = ["tools/list", "resources/list", "prompts/list", "logging/setLevel", "completion/complete", "resources/subscribe"];
  for (const token of [await lab.token("toolset:todo"), await lab.token("read-only"), team.bob.token]) {
    for (const method of ["POST", "GET", "DELETE"]) {
      for (const asked of method === "POST" ? methods : [""]) {
        const body = method === "POST" ? { body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: asked, params: {} }) } : {};
        const headers = {
          ...bearer(token),
          "mcp-session-id": session,
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
        };
        const answer = await fetch(new URL("/mcp", team.url), { method, headers, ...body });
        expect(answer.status, `${method} ${asked}`).toBe(404);
      }
    }
  }
  expect((await client.listTools()).tools.length).toBeGreaterThan(10);
  await client.close();
});

it("gives a stream of HTTP+SSE to the token that opened it alone", async () => {
  await using lab = await openLab();
  const { team } = lab;
  const { url } = team;
  const stream = await fetch(new URL("/sse", url), {
    headers: { ...bearer(team.alice.token), accept: "text/event-stream" },
    signal: soon(),
  });
  const events = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
  const endpoint = /data: (\S+)/.exec((await events?.read())?.value ?? "")?.[1] ?? "";
  expect(endpoint).toContain("sessionId=");
  const post = async (token: string): Promise<number> => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
    const headers = { ...bearer(token), "content-type": "application/json" };
    return (await fetch(new URL(endpoint, url), { method: "POST", headers, body })).status;
  };
  for (const token of [await lab.token("toolset:todo"), await lab.token("read-only"), await lab.token("network:all"), team.bob.token])
    expect(await post(token)).toBe(404);
  expect(await post(team.alice.token)).toBe(202);
  expect((await events?.read())?.value).toContain('"result":{}');
  await events?.cancel();
});
