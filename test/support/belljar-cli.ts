import { spawn } from "node:child_process";
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { hasSandboxes } from "./left-in-home.ts";
import { makeSharingHome } from "./share-base.ts";

const BELLJAR = join(import.meta.dirname, "../../bin/belljar.js");

export interface CliResult {
  readonly code: number | null;
  readonly stdout: string;
  /** Without the lines that only say what is being waited for. */
  readonly stderr: string;
}

export interface CliOptions {
  readonly input?: string | Buffer;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** A program and its first arguments, which runs the command. */
  readonly within?: readonly string[];
}

/** A command that goes on; disposing it ends it and waits for its end. */
export interface StartedCli extends AsyncDisposable {
  /** Resolves with the first match in what it says on stderr. */
  says(pattern: RegExp): Promise<RegExpExecArray>;
  /** Resolves with the first match in what it writes to stdout. */
  prints(pattern: RegExp): Promise<RegExpExecArray>;
  /** Resolves when it has written to stdout. */
  firstOutput(): Promise<void>;
  /** Writes this to its stdin, and closes that. */
  endInput(text: string): void;
  /** Reads its stdout no more. */
  closeOutput(): void;
  /** Reads its stderr no more. */
  closeErrors(): void;
  signal(name: NodeJS.Signals): void;
  readonly exit: Promise<CliResult>;
}

/** A Belljar home of its own. Disposing it ends its sandboxes and removes it. */
export interface CliHome extends AsyncDisposable {
  /** A folder for the test's own files. */
  readonly folder: string;
  readonly home: string;
  run(argv: readonly string[], options?: CliOptions): Promise<CliResult>;
  start(argv: readonly string[], options?: CliOptions): StartedCli;
}

/** The built CLI as a person would use it. `apart` gives it a runtime directory of its own: `run` in its folder. */
export async function openCliHome({ apart = false } = {}): Promise<CliHome> {
  const folder = await mkdtemp(join(tmpdir(), "belljar-e2e-"));
  const home = join(folder, "home");
  makeSharingHome(home);
  const own = {
    BELLJAR_HOME: home,
    BELLJAR_STORAGE: "home",
    BELLJAR_SECRETS_KEY: "file",
    // No sandbox waits: one of a server that a test kills would live on for minutes.
    BELLJAR_POOL_SANDBOXES: "0",
    BELLJAR_POOL_PROGRAMS: "0",
    BELLJAR_POOL_PACKAGES: "0",
    ...(apart ? { BELLJAR_RUNTIME_DIRECTORY: join(folder, "run") } : {}),
  };
  const launch = (argv: readonly string[], { input, env = {}, cwd = folder, within = [] }: CliOptions = {}) => {
    const [program = "", ...rest] = [...within, process.execPath, BELLJAR, ...argv];
    const child = spawn(program, rest, { cwd, env: { ...cleanEnv(), ...own, ...env } });
    child.stdin.on("error", () => undefined);
    if (input !== undefined) child.stdin.end(input);
    return child;
  };
  const run = async (argv: readonly string[], options: CliOptions = {}): Promise<CliResult> =>
    finish(launch(argv, { input: "", ...options }));
  return {
    folder,
    home,
    run,
    start(argv, options) {
      const child = launch(argv, options);
      const heard = listen(child.stderr);
      const printed = listen(child.stdout);
      const exit = finish(child);
      return {
        says: heard,
        prints: printed,
        firstOutput: async () => void (await once(child.stdout, "data")),
        endInput: (text) => void child.stdin.end(text),
        closeOutput: () => void child.stdout.destroy(),
        closeErrors: () => void child.stderr.destroy(),
        signal: (name) => void child.kill(name),
        exit,
        async [Symbol.asyncDispose]() {
          child.kill("SIGTERM");
          await exit;
        },
      };
    },
    async [Symbol.asyncDispose]() {
      const { stdout } = hasSandboxes(home) ? await run(["sandbox", "list", "--json"]) : { stdout: "[]" };
      const ids = stdout.startsWith("[") ? (JSON.parse(stdout) as { id: string }[]).map(({ id }) => id) : [];
      if (ids.length > 0) await run(["sandbox", "kill", ...ids]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Nothing of the developer's own settings. */
function cleanEnv(): Record<string, string | undefined> {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(BELLJAR_.*|DB_.*|DATABASE_URL|STORE_IN_FILE|NODE_EXTRA_CA_CERTS|WORKSPACE_DIR)$/.test(name),
  );
  return Object.fromEntries(kept);
}

async function finish(child: ChildProcessWithoutNullStreams): Promise<CliResult> {
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
  const [code] = (await once(child, "close")) as [number | null];
  return { code, stdout: stdout(), stderr: stderr().replaceAll(/^.* \.\.\.\n/gm, "") };
}

function collect(stream: Readable): () => string {
  const chunks: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  return () => Buffer.concat(chunks).toString();
}

/** Calls back what a stream said, matched again with each chunk; rejects when it ends without a match. */
function listen(stream: Readable): (pattern: RegExp) => Promise<RegExpExecArray> {
  let heard = "";
  stream.on("data", (chunk: Buffer) => (heard += chunk.toString()));
  return (pattern) =>
    new Promise((resolve, reject) => {
      const look = () => {
        const match = pattern.exec(heard);
        if (match) resolve(match);
      };
      look();
      stream.on("data", look);
      stream.once("end", () => reject(new Error(`It never said ${pattern}, but:\n${heard}`)));
    });
}
