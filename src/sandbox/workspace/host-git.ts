import { spawn } from "node:child_process";
import { once } from "node:events";
import { homedir } from "node:os";
import { limitTime } from "../../async/limit-time.ts";

/** A repository of the host may be one that a sandbox wrote: git reads it, and runs, fetches and refreshes nothing. */
const SETTINGS = [
  "core.fsmonitor=false",
  "core.hooksPath=/dev/null",
  "core.attributesFile=/dev/null",
  // A command for the shell, which prints the commits of the repositories that this one borrows objects from. This one prints none.
  "core.alternateRefsCommand=true",
  "fetch.bundleURI=",
  "safe.bareRepository=explicit",
  "protocol.allow=never",
  "submodule.recurse=false",
  "gc.auto=0",
  "maintenance.auto=false",
];
const OPTIONS = ["--no-pager", "--no-optional-locks", "--no-replace-objects"];
const PATH = "/usr/local/bin:/usr/bin:/bin:/run/current-system/sw/bin:/opt/homebrew/bin";
const TIMEOUT_MS = 20_000;

export interface HostGitOptions {
  readonly folder: string;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
  readonly input?: Buffer;
  /** Further settings, as `name=value`. */
  readonly settings?: readonly string[];
  /** The one protocol that may be used. Default: none. */
  readonly protocol?: "file";
}

/**
 * Runs the host's git in a folder, with settings that start no program and no transport. Undefined where git is missing, refuses the folder,
 * fails, takes too long or says more than `maxBytes`.
 */
export async function hostGit(args: readonly string[], options: HostGitOptions): Promise<Buffer | undefined> {
  const { folder, maxBytes, signal, input, settings = [], protocol = "none" } = options;
  using limited = limitTime(signal, TIMEOUT_MS);
  const argv = [...OPTIONS, ...[...SETTINGS, ...settings].flatMap((setting) => ["-c", setting]), ...args];
  const git = spawn("git", argv, {
    cwd: folder,
    env: {
      PATH,
      HOME: homedir(),
      LC_ALL: "C",
      GIT_ALLOW_PROTOCOL: protocol,
      GIT_NO_LAZY_FETCH: "1",
      GIT_TERMINAL_PROMPT: "0",
    },
    stdio: ["pipe", "pipe", "ignore"],
    signal: limited.signal,
    killSignal: "SIGKILL",
  });
  git.stdin.on("error", () => undefined).end(input);
  const ended = once(git, "close").then(
    ([code]) => code === 0,
    () => false,
  );
  const output = await collect(git.stdout, maxBytes);
  if (!output) git.kill("SIGKILL");
  return (await ended) ? output : undefined;
}

async function collect(stream: AsyncIterable<Buffer>, maxBytes: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of stream) {
      size += chunk.length;
      if (size > maxBytes) return undefined;
      chunks.push(chunk);
    }
  } catch {
    return undefined;
  }
  return Buffer.concat(chunks);
}
