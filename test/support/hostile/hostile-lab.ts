import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { openTestHome } from "../served-home.ts";
import type { TestHome } from "../served-home.ts";
import type { Inside } from "./hostile-files.ts";
import { HOSTILE_FILES, HOSTILE_FOLDER, makeHostileFiles, restoreHostileFiles } from "./hostile-files.ts";
import { HOSTILE_TEXTS } from "./hostile-texts.ts";
import type { KnownValues, Schema } from "./hostile-values.ts";
import { createShare, toJson } from "./hostile-values.ts";
import type { Measured, WatchedServer } from "./watched-server.ts";
import { openWatchedServer } from "./watched-server.ts";

/** What no content may make of a server. */
const STALL_MAX_MS = 200;
const GROWTH_MAX_BYTES = 200 * 1_048_576;
/** Within it a call shows what it costs; it is cancelled then. */
const CALL_MS = 3_000;
const AT_ONCE = 8;
/** Of the texts and files each field is given this part, the next field the next part. A run by hand may drive all of it. */
const PART = process.env["BELLJAR_HOSTILE"] === "all" ? 1 : 0.1;

export interface HostileCase {
  readonly what: string;
  readonly run: (signal: AbortSignal) => Promise<unknown>;
}

export interface CatalogTool {
  readonly name: string;
  readonly inputSchema: Schema;
}

export interface Driven {
  readonly driven: number;
  readonly failures: readonly string[];
}

/** A real server with a real sandbox full of the corpus. */
export interface HostileLab extends AsyncDisposable {
  readonly home: TestHome;
  readonly server: WatchedServer;
  readonly known: KnownValues;
  tools(): Promise<readonly CatalogTool[]>;
  /** What the server answered. Rejects when it did not. */
  send(request: string, body: unknown, signal: AbortSignal): Promise<string>;
  call(tool: string, args: unknown, signal: AbortSignal): Promise<string>;
  /** Runs the cases, and names each that made the server stand still or grow beyond the bounds. */
  drive(cases: Iterable<HostileCase> | AsyncIterable<HostileCase>): Promise<Driven>;
  /** Names of tools of which a call was let past the door: whose arguments were valid at least once. */
  readonly workedTools: ReadonlySet<string>;
  /** Another sandbox, with nothing in it. It ends with the lab. */
  createSandbox(): Promise<string>;
  /** Puts back what calls have changed in the sandbox, and ends the others. */
  restore(): Promise<void>;
}

export async function openHostileLab(): Promise<HostileLab> {
  const home = await openTestHome();
  const upstream = await openHostileUpstream();
  const server = await openWatchedServer(home, { args: ["--legacy-sse"] });
  const send: HostileLab["send"] = async (request, body, signal) => {
    const [method = "GET", path = "/"] = request.split(" ");
    const sent = body === undefined ? {} : { body: toJson(body), headers: { "content-type": "application/json" } };
    return (await fetch(server.url + path, { method, signal, ...sent })).text();
  };
  const workedTools = new Set<string>();
  const call: HostileLab["call"] = async (name, args, signal) => {
    const answer = await send("POST /tools/call", { name, arguments: args }, signal);
    if (!answer.includes(`The arguments of ${name}`)) workedTools.add(name);
    return answer;
  };
  await send("POST /credential", { user_api_key: "a", session_id: "a" }, soon());
  await send("POST /tool-server-url", { tool_server_url: upstream.url }, soon());
  const sure: SureCall = async (tool, args) => valueOf(await call(tool, args, soon()));
  const known = await prepare(sure).catch(async (error: unknown) => {
    await close();
    throw error;
  });
  return {
    home,
    server,
    known,
    tools: async () => (JSON.parse(await send("GET /tools", undefined, soon())) as { tools: readonly CatalogTool[] }).tools,
    send,
    call,
    workedTools,
    createSandbox: async () => String((await sure("sandbox_create", {}))["id"]),
    drive: (cases) => drive(server, cases),
    restore: () => restore(sure, known),
    [Symbol.asyncDispose]: close,
  };
  async function close(): Promise<void> {
    await server[Symbol.asyncDispose]();
    await upstream[Symbol.asyncDispose]();
    await home[Symbol.asyncDispose]();
  }
}

type Value = Readonly<Record<string, unknown>>;
type SureCall = (tool: string, args: object) => Promise<Value>;

/** Fills the default sandbox, and gives back what there is to be named. */
async function prepare(call: SureCall): Promise<KnownValues> {
  const files = await makeHostileFiles(inside(call));
  const [sandbox] = await listSandboxes(call);
  const flood = await call("run_background", { command: "yes | head -c 20000000; sleep 3600" });
  await call("run_background", { command: `cd ${HOSTILE_FOLDER} && exec python3 -m http.server --bind 127.0.0.1 8000` });
  const path = `${HOSTILE_FOLDER}/equal-lines.txt`;
  const values = { sandbox, id: sandbox, process_id: flood["process_id"], path, cwd: HOSTILE_FOLDER };
  return { files: [...HOSTILE_FILES, ...files.slice(0, 1)], values, share: createShare(PART) };
}

async function restore(call: SureCall, { values }: KnownValues): Promise<void> {
  for (const id of await listSandboxes(call)) if (id !== values["sandbox"]) await call("sandbox_kill", { id });
  await restoreHostileFiles(inside(call));
}

function inside(call: SureCall): Inside {
  return {
    python: async (program) => {
      const { stderr, exit_code: code } = await call("run_command", { command: `python3 - <<'END'\n${program}\nEND`, timeout_ms: 300_000 });
      if (code !== 0) throw new Error(`A program that prepares the corpus failed: ${String(stderr)}`);
    },
    writeFile: (path, content) => call("write_file", { path, content }),
  };
}

async function listSandboxes(call: SureCall): Promise<readonly string[]> {
  const { sandboxes } = await call("sandbox_list", {});
  return (sandboxes as readonly { readonly id: string }[]).map(({ id }) => id);
}

function valueOf(answer: string): Value {
  const { value, isError } = JSON.parse(answer) as { value?: Value; isError?: boolean };
  if (isError || !value) throw new Error(`A call that prepares the corpus failed: ${answer.slice(0, 2_000)}`);
  return value;
}

const soon = (): AbortSignal => AbortSignal.timeout(300_000);

async function drive(server: WatchedServer, cases: Iterable<HostileCase> | AsyncIterable<HostileCase>): Promise<Driven> {
  const failures: string[] = [];
  let driven = 0;
  for await (const some of batches(cases, AT_ONCE)) {
    driven += some.length;
    // One turn of the loop may have served several of them: each that may be it is measured alone.
    if (isWithin(await measure(server, some))) continue;
    for (const one of some) {
      const measured = await measure(server, [one]);
      if (!isWithin(measured)) failures.push(describe(one, measured));
    }
  }
  return { driven, failures };
}

function measure(server: WatchedServer, cases: readonly HostileCase[]): Promise<Measured> {
  // What fails has been driven as well: the server refused it, it was cancelled here, or the server is gone, which is measured.
  return server.measure(async () => void (await Promise.allSettled(cases.map(({ run }) => run(AbortSignal.timeout(CALL_MS))))));
}

function isWithin({ stalledMs, grownBytes }: Measured): boolean {
  return stalledMs <= STALL_MAX_MS && grownBytes <= GROWTH_MAX_BYTES;
}

function describe({ what }: HostileCase, { stalledMs, grownBytes }: Measured): string {
  const stood = Number.isFinite(stalledMs) ? `stood still for ${Math.round(stalledMs)} ms` : "never came back";
  return `${what}: the server ${stood} and grew by ${Math.round(grownBytes / 1_048_576)} MiB`;
}

async function* batches<T>(items: Iterable<T> | AsyncIterable<T>, size: number): AsyncGenerator<readonly T[]> {
  let batch: T[] = [];
  for await (const item of items) {
    batch.push(item);
    if (batch.length < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

interface Upstream extends AsyncDisposable {
  readonly url: string;
}

/** A tool server that is well, and answers each search with another text of the corpus. */
async function openHostileUpstream(): Promise<Upstream> {
  const texts = Object.values(HOSTILE_TEXTS);
  let asked = 0;
  const server = createServer((request, response) => {
    request.resume();
    if (request.url === "/health") return void response.end("{}");
    const text = texts[(asked += 1) % texts.length]?.() ?? "";
    return void response.end(asked % 2 === 0 ? text : JSON.stringify({ results: [{ title: text, url: text, snippet: text }] }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
