import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import type { TestHome } from "../served-home.ts";
import { CLI } from "../served-home.ts";

const WATCHED = join(import.meta.dirname, "../../fixtures/watched.mjs");
/** A loop that does not answer for so long has stood still far beyond the bound, however busy the machine is. */
const FROZEN_MS = 20_000;

export interface Measured {
  /** The main thread's longest time on a processor between two beats of its loop. Infinite: it did not come back, or the process died. */
  readonly stalledMs: number;
  readonly grownBytes: number;
}

/** `belljar serve` in a process whose event loop and memory are watched from within. Disposing it ends it. */
export interface WatchedServer extends AsyncDisposable {
  readonly url: string;
  /** `METHOD /path` of all that its HTTP origin registered. */
  routes(): Promise<readonly string[]>;
  /** What the server's loop and memory did while the work was done. A server that froze or died is replaced by a new one on the same home. */
  measure(work: () => Promise<void>): Promise<Measured>;
}

export interface WatchedOptions {
  readonly args?: readonly string[];
  /** Modules that are loaded before the server. */
  readonly import?: readonly string[];
}

export async function openWatchedServer(home: TestHome, options: WatchedOptions = {}): Promise<WatchedServer> {
  let server = await start(home, options);
  return {
    get url() {
      return server.url;
    },
    routes: async () => (await ask<{ routes: readonly string[] }>(server, "routes")).routes,
    async measure(work) {
      await ask(server, "start");
      await work();
      try {
        return await ask<Measured>(server, "stop");
      } catch (error) {
        if (!(error instanceof Frozen)) throw error;
        await end(server.child, "SIGKILL");
        server = await start(home, options);
        return { stalledMs: Infinity, grownBytes: 0 };
      }
    },
    [Symbol.asyncDispose]: () => end(server.child, "SIGTERM"),
  };
}

class Frozen extends Error {}

interface Running {
  readonly child: ChildProcess;
  readonly url: string;
  readonly answers: EventEmitter;
}

let asked = 0;

async function ask<Answer>({ child, answers }: Running, question: string): Promise<Answer> {
  const number = (asked += 1);
  const signal = AbortSignal.timeout(FROZEN_MS);
  if (!child.connected) throw new Frozen("The server has ended");
  // The channel of a process that ends breaks, and its end is told besides.
  child.send({ number, question }, () => undefined);
  try {
    const [answer] = (await once(answers, String(number), { signal })) as [Answer];
    return answer;
  } catch (cause) {
    throw new Frozen("The server does not answer", { cause });
  }
}

async function start({ env }: TestHome, { args = [], import: modules = [] }: WatchedOptions): Promise<Running> {
  const imports = [WATCHED, ...modules].flatMap((module) => ["--import", module]);
  const child = spawn(process.execPath, [...imports, CLI, "serve", "--port", "0", ...args], {
    env,
    stdio: ["ignore", "inherit", "pipe", "ipc"],
  });
  const answers = new EventEmitter();
  child.on("message", (message) => {
    const { number, answer } = message as { number: number; answer: unknown };
    answers.emit(String(number), answer);
  });
  child.once("exit", () => answers.emit("error", new Frozen("The server has ended")));
  answers.on("error", () => undefined);
  return { child, answers, url: await announcedUrl(child.stderr as Readable) };
}

async function announcedUrl(stderr: Readable): Promise<string> {
  const said: string[] = [];
  const lines = createInterface({ input: stderr });
  for await (const line of lines) {
    said.push(line);
    const url = /MCP at (\S+)\/mcp/.exec(line)?.[1];
    if (url === undefined) continue;
    stderr.resume();
    return url;
  }
  throw new Error(`The server ended before it listened:\n${said.join("\n")}`);
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill(signal);
  await once(child, "exit");
}
