import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer as createHttpServer, type ServerResponse } from "node:http";
import { createServer } from "node:net";
import { text } from "node:stream/consumers";
import { once } from "node:events";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Progress } from "../../../src/catalog/tool.ts";
import { LOCAL, type Principal } from "../../../src/sandbox/sandbox.ts";
import { type HubCallOptions, type HubLab, hubServer, openHubLab } from "../../support/hub-lab.ts";
import { textOf } from "../../support/tools-lab.ts";

const OTHER: Principal = { id: "other", name: "other" };
let folder: string;
let lab: HubLab;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "bj-hub-"));
  await writeFile(join(folder, "note"), "a note");
  await mkdir(join(folder, "sub"));
  lab = await openHubLab(
    {
      one: hubServer({ env: { TOKEN: "${GIVEN}" } }),
      bare: hubServer({ isolation: "none" }),
      folder: hubServer({ mounts: [{ host: folder }], select: ["read", "write"], rename: { read: "look" } }),
      dies: { command: "sh", args: ["-c", "echo no database >&2; exit 3"] },
      absent: { command: "no-such-program" },
      hidden: { command: "node", args: [join(folder, "note"), "/etc/passwd/x", `/${"x".repeat(300)}`] },
      wrong: hubServer({ network: "al" }),
      twice: hubServer({ mounts: [{ host: "/a" }, { host: "/b" }] }),
      off: hubServer({ disabled: true }),
      many: hubServer({ env: { LISTS: "many" } }),
      below: hubServer({ mounts: [{ host: folder }], cwd: "/workspace/sub", select: ["where", "no-such"] }),
    },
    { env: { GIVEN: "t0ken", AWS_SECRET_ACCESS_KEY: "s3cret", PATH: process.env["PATH"] ?? "" } },
  );
  await lab.until(() => Object.values(lab.states()).every((state) => state !== "starting"));
}, 120_000);
afterAll(async () => {
  await lab?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
}, 60_000);

const json = async (tool: string, args: object): Promise<Record<string, unknown>> => JSON.parse(textOf(await lab.call(tool, args)));

it("serves the tools of each server under its name, those alone that are selected, and spoils none for another's fault", () => {
  expect(lab.names().slice(0, 3)).toEqual(["mcp_one_count", "mcp_one_where", "mcp_one_read"]);
  // A list shows the first ones alone.
  const names = lab.hub.servers(LOCAL).flatMap(({ tools }) => tools);
  expect(names).toContain("mcp_one_a_b_c");
  expect(names.filter((name) => name.startsWith("mcp_folder_"))).toEqual(["mcp_folder_look", "mcp_folder_write"]);
  expect(names.filter((name) => /_(?:bad|nothing|abyss)$|_off_|_dies_/.test(name))).toEqual([]);
  const failed = Object.fromEntries(["dies", "absent", "hidden", "wrong", "twice"].map((name) => [name, "failed"]));
  expect(lab.states()).toMatchObject({ one: "ready", bare: "ready", folder: "ready", many: "ready", below: "ready", ...failed });
});

it("says what is wrong with a server, once, with its last words", () => {
  const of = (name: string): readonly string[] => lab.problems.filter((problem) => problem.includes(`server "${name}"`));
  expect(of("dies")).toEqual([expect.stringMatching(/exit code 3(?: before it answered)?\n {2}no database/)]);
  expect(of("absent")).toEqual([expect.stringMatching(/no program no-such-program/)]);
  expect(of("hidden")).toEqual([
    expect.stringContaining(`"mounts": [{"host":"${folder}","path":"/workspace","mode":"ro"}] and /workspace/note`),
  ]);
  expect(of("wrong")).toEqual([expect.stringContaining('network: must be "none", "all" or')]);
  expect(of("twice")).toEqual([expect.stringContaining("one folder of the host")]);
  expect(of("one")).toEqual([
    expect.stringContaining('"abyss" and whatever else of its tools is larger than 512 KiB, 10,000 values or 500 levels is left out'),
    expect.stringContaining('has a tool "bad" that is left out: The JSON Schema cannot be used: it refers to another document'),
  ]);
});

it("runs a server in a sandbox with what its entry names alone, and on the host where the entry says so", async () => {
  const { host, env, sees } = await json("mcp_one_where", { path: folder });
  expect({ isHost: host === hostname(), sees }).toEqual({ isHost: false, sees: false });
  expect(env).toMatchObject({ TOKEN: "t0ken" });
  expect(JSON.stringify(env)).not.toContain("s3cret");
  expect(await json("mcp_bare_where", { path: folder })).toMatchObject({ host: hostname(), sees: true });
});

it("gives a server no network unless its entry does", async () => {
  const server = createServer((socket) => socket.destroy()).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  try {
    expect(textOf(await lab.call("mcp_bare_reach", { port }))).toBe("reached");
    expect(textOf(await lab.call("mcp_one_reach", { port }))).toBe("ECONNREFUSED");
  } finally {
    server.close();
  }
});

it("shows a server the one folder that its entry names, to read", async () => {
  expect(textOf(await lab.call("mcp_folder_look", { path: "/workspace/note" }))).toBe("a note");
  expect(textOf(await lab.call("mcp_folder_write", { path: "/workspace/note" }))).toBe("EROFS");
});

it("takes ten thousand tools, and a folder to start in", async () => {
  expect(lab.hub.servers(LOCAL).find(({ name }) => name === "many")?.tools).toHaveLength(10_000);
  expect(textOf(await lab.call("mcp_many_count"))).toBe("1");
  expect(await json("mcp_below_where", { path: "/" })).toMatchObject({ cwd: "/workspace/sub" });
  expect(lab.problems).toContainEqual('The server "below" has no tool "no-such", which its entry names');
});

it("gives each client an instance of its own, and a client the same one again", async () => {
  const count = async (clientId?: string) => textOf(await lab.call("mcp_one_count", {}, clientId === undefined ? {} : { clientId }));
  expect([await count("first"), await count("first"), await count("second"), await count(), await count("first")]).toEqual([
    "1",
    "2",
    "1",
    "1",
    "3",
  ]);
});

it("passes an answer as it came, and says what of it is none", async () => {
  const { content, structured, isError } = await lab.call("mcp_one_rich");
  expect(content).toEqual([
    { type: "text", text: "see", annotations: { audience: ["user"] }, vendor: 1 },
    { type: "image", data: "aGk=", mimeType: "image/png" },
    { type: "text", text: expect.stringContaining("none that MCP knows") },
  ]);
  expect({ structured, isError }).toEqual({ structured: { n: 1 }, isError: true });
});

it("refuses an answer that is nested too deep to be sent on", async () => {
  expect(await lab.call("mcp_one_deep")).toMatchObject({ isError: true, value: { code: "SERVER_INCOMPATIBLE" } });
});

it("passes progress, and the caller's cancel", async () => {
  const told: Progress[] = [];
  await lab.call("mcp_one_progress", {}, { progress: (one) => void told.push(one) });
  expect(told).toEqual([1, 2].map((progress) => ({ progress, total: 2, message: "on" })));
  const controller = new AbortController();
  const given = { clientId: "cancelling", signal: controller.signal, progress: () => controller.abort() };
  expect(await lab.call("mcp_one_hang", {}, given)).toMatchObject({ isError: true, value: { code: "CANCELLED" } });
  expect(textOf(await lab.call("mcp_one_cancelled", {}, { clientId: "cancelling" }))).toBe("1");
});

it("passes a server's question to the person of the call that it belongs to, and the answer back", async () => {
  const asked: unknown[] = [];
  const ask: HubCallOptions["ask"] = async (question) => {
    asked.push(question);
    return { action: "accept", content: { which: "this" } };
  };
  expect(textOf(await lab.call("mcp_one_ask", {}, { ask }))).toBe('{"action":"accept","content":{"which":"this"}}');
  expect(asked).toEqual([
    { message: 'The server "one" asks: Which?', schema: { type: "object", properties: { which: { type: "string" } } } },
  ]);
  expect(textOf(await lab.call("mcp_one_ask", {}, { ask: async () => ({ action: "decline" }) }))).toBe('{"action":"decline"}');
  expect(textOf(await lab.call("mcp_one_ask"))).toMatch(/"code":-32603,"message":"This call needs/);
});

it("asks nobody when it cannot tell whose question it is", async () => {
  const clientId = "several";
  const controller = new AbortController();
  let begun = (): void => undefined;
  const hangs = new Promise<void>((resolve) => (begun = resolve));
  const hanging = lab.call("mcp_one_hang", {}, { clientId, signal: controller.signal, progress: () => begun() });
  await hangs;
  const asked = await lab.call("mcp_one_ask", {}, { clientId, ask: async () => ({ action: "accept", content: {} }) });
  expect(textOf(asked)).toContain("several calls at once");
  controller.abort();
  await hanging;
});

it("asks one question at a time, and a few a call", async () => {
  let open = 0;
  let most = 0;
  const ask: HubCallOptions["ask"] = async () => {
    most = Math.max(most, (open += 1));
    await new Promise((resolve) => setImmediate(resolve));
    open -= 1;
    return { action: "accept", content: { which: "this" } };
  };
  const refused = Number(textOf(await lab.call("mcp_one_pester", {}, { ask, clientId: "pestered" })));
  expect({ isMany: refused >= 10, most }).toEqual({ isMany: true, most: 1 });
});

it("asks nobody for an instance that clients share after one of its calls was given up", async () => {
  await using shared = await openHubLab({ one: hubServer() });
  await shared.until(() => shared.names().length > 0);
  const ask: HubCallOptions["ask"] = async () => ({ action: "accept", content: { which: "this" } });
  expect(textOf(await shared.call("mcp_one_ask", {}, { ask }))).toContain("accept");
  const controller = new AbortController();
  await shared.call("mcp_one_hang", {}, { signal: controller.signal, progress: () => controller.abort() });
  expect(textOf(await shared.call("mcp_one_ask", {}, { ask }))).toContain("it answers no call");
}, 60_000);

it("lists again when a server says that its tools have changed", async () => {
  await using more = await openHubLab({ one: hubServer() });
  await more.until(() => more.names().length > 0);
  expect(textOf(await more.call("mcp_one_more"))).toBe("there is more");
  await more.until(() => more.names().includes("mcp_one_later"));
  expect(textOf(await more.call("mcp_one_later"))).toBe("later");
}, 60_000);

it("starts a server again that died in a call", async () => {
  expect(await lab.call("mcp_one_die", {}, { clientId: "dying" })).toMatchObject({ isError: true, value: { code: "SERVER_UNREACHABLE" } });
  expect(textOf(await lab.call("mcp_one_count", {}, { clientId: "dying" }))).toBe("1");
});

it("shows its owner each server, its last words, and starts it again when it is asked", async () => {
  const [one] = lab.hub.servers(LOCAL);
  expect(one).toMatchObject({ name: "one", transport: "stdio", isolation: "sandbox", network: "none" });
  expect(one?.tools).toContain("mcp_one_count");
  expect(lab.hub.servers(LOCAL).find(({ name }) => name === "wrong")).toMatchObject({ error: { code: "CONFIG_INVALID" } });
  expect(lab.hub.logs(LOCAL, "one")).toContain("ready to serve");
  expect(lab.hub.logs(LOCAL, "dies")).toContain("no database");
  const count = async () => textOf(await lab.call("mcp_one_count", {}, { clientId: "again" }));
  expect([await count(), await count()]).toEqual(["1", "2"]);
  await lab.hub.restart(LOCAL, "one");
  expect([await count(), lab.states()["one"]]).toEqual(["1", "ready"]);
  await expect(lab.hub.restart(LOCAL, "wrong")).rejects.toMatchObject({ code: "CONFIG_INVALID" });
  await expect(lab.hub.restart(LOCAL, "absent-name")).rejects.toMatchObject({ code: "MCP_SERVER_NOT_FOUND" });
});

it("is the local user's alone", async () => {
  expect([lab.names(OTHER), lab.hub.servers(OTHER)]).toEqual([[], []]);
  expect(() => lab.hub.logs(OTHER, "one")).toThrow(expect.objectContaining({ code: "MCP_SERVER_NOT_FOUND" }));
  await expect(lab.hub.restart(OTHER, "one")).rejects.toMatchObject({ code: "MCP_SERVER_NOT_FOUND" });
  await expect(lab.call("mcp_one_count", {}, { principal: OTHER })).rejects.toMatchObject({ code: "TOOL_NOT_FOUND" });
});

it("lists the first tools, and calls the others too", async () => {
  await using few = await openHubLab({ one: hubServer() }, { listMax: 2 });
  await few.until(() => few.names().length > 0);
  expect(few.names()).toEqual(["mcp_one_count", "mcp_one_where"]);
  expect(textOf(await few.call("mcp_one_cancelled"))).toBe("0");
}, 60_000);

it("lists no more than 8,000 tokens of tools", async () => {
  await using wordy = await openHubLab({ one: hubServer({ env: { LISTS: "wordy" } }) });
  await wordy.until(() => wordy.names().length > 0);
  expect(wordy.names().length).toBeGreaterThan(12);
  expect(wordy.names().length).toBeLessThanOrEqual(16);
}, 60_000);

it("lists all tools of a server, or none, where its entry says so, and calls them all", async () => {
  const servers = {
    none: hubServer({ list: "search" }),
    one: hubServer(),
    every: hubServer({ list: "all", select: ["count", "where", "read"] }),
  };
  await using lab = await openHubLab(servers, { listMax: 4 });
  await lab.until(() => Object.values(lab.states()).every((state) => state === "ready"));
  expect(lab.names()).toEqual(["mcp_one_count", "mcp_every_count", "mcp_every_where", "mcp_every_read"]);
  expect(textOf(await lab.call("mcp_none_count"))).toBe("1");
}, 60_000);

it("ends a server that asks and reads no answer, and none beside it", async () => {
  await using lab = await openHubLab({ flood: hubServer({ env: { LISTS: "flood" } }), one: hubServer() });
  await lab.until(() => lab.states()["flood"] === "ready" && lab.states()["one"] === "ready");
  await lab.until(() => lab.states()["flood"] === "stopped");
  expect(textOf(await lab.call("mcp_one_count"))).toBe("1");
}, 60_000);

/** A server over HTTP that knows one session at a time. */
async function openForgetful() {
  let session = 0;
  let begun = 0;
  let hung = (): void => undefined;
  const held: ServerResponse[] = [];
  const answers: Readonly<Record<string, () => object>> = {
    initialize: () => ({ protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "far", version: "1" } }),
    "tools/list": () => ({ tools: ["session", "hang"].map((name) => ({ name, inputSchema: { type: "object" } })) }),
    "tools/call": () => ({ content: [{ type: "text", text: `of session ${session}` }] }),
  };
  const server = createHttpServer((request, response) => {
    void text(request).then((body) => {
      const { id, method } = (body === "" ? {} : JSON.parse(body)) as { id?: number; method?: string };
      if (method === "initialize") session += 1;
      else if (Number(request.headers["mcp-session-id"]) !== session)
        return response.writeHead(method === "server/discover" ? 400 : 404).end();
      if (id === undefined) return response.writeHead(request.method === "POST" ? 202 : 405).end();
      if (body.includes('"hang"')) return ((begun += 1), void held.push(response), hung());
      const answer = answers[method ?? ""];
      response.writeHead(200, { "content-type": "application/json", "mcp-session-id": String(session) });
      return response.end(
        JSON.stringify({ jsonrpc: "2.0", id, ...(answer ? { result: answer() } : { error: { code: -32_601, message: "no" } }) }),
      );
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    forget: () => void (session += 1),
    /** Resolves once it has begun the next `hang`, which it never answers. */
    hangs: () => new Promise<void>((resolve) => (hung = resolve)),
    begun: () => begun,
    endHung: () => held.splice(0).forEach((response) => response.destroy()),
    [Symbol.dispose]: () => (server.closeAllConnections(), server.close()),
  };
}

it("begins another session with a server over HTTP that has lost the one, and makes the call again", async () => {
  using far = await openForgetful();
  await using lab = await openHubLab({ far: { type: "http", url: far.url } });
  await lab.until(() => lab.names().length > 0);
  expect(textOf(await lab.call("mcp_far_session"))).toBe("of session 1");
  far.forget();
  expect(textOf(await lab.call("mcp_far_session"))).toBe("of session 3");
  expect(textOf(await lab.call("mcp_far_session"))).toBe("of session 3");
}, 60_000);

it("makes no call again that a server over HTTP had begun before it lost the session", async () => {
  using far = await openForgetful();
  await using lab = await openHubLab({ far: { type: "http", url: far.url } });
  await lab.until(() => lab.names().length > 0);
  const hangs = far.hangs();
  const begun = lab.call("mcp_far_hang");
  await hangs;
  far.forget();
  const again = lab.call("mcp_far_session");
  expect(textOf(await again)).toBe("of session 3");
  far.endHung();
  expect(await begun).toMatchObject({ isError: true });
  expect(far.begun()).toBe(1);
}, 60_000);

it("ends while a server does not answer what its tools are, and is held up by none", async () => {
  await using hung = await openHubLab({ hung: hubServer({ env: { LISTS: "hang" } }), one: hubServer() });
  await hung.until(() => hung.states()["one"] === "ready");
  expect(hung.states()).toMatchObject({ hung: "starting" });
  await hung.close();
  expect(hung.liveSandboxes()).toBe(0);
}, 60_000);

it("ends a server that nobody calls, and all with itself", async () => {
  await using idle = await openHubLab({ one: hubServer(), two: hubServer() }, { idleMs: 50, prefix: "" });
  await idle.until(() => idle.states()["one"] === "stopped" && idle.states()["two"] === "stopped");
  expect(textOf(await idle.call("count"))).toBe("1");
  const hanging = idle.call("hang", {}, { clientId: "last" });
  await idle.close();
  expect(await hanging).toMatchObject({ isError: true, value: { code: expect.stringMatching(/^(?:CANCELLED|SERVER_UNREACHABLE)$/) } });
  expect(idle.liveSandboxes()).toBe(0);
}, 60_000);
