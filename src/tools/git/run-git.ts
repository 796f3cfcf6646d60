import { BelljarError } from "../../errors.ts";
import { withProgram } from "../../interpreter/missing-program.ts";
import type { RunOptions, Sandbox } from "../../sandbox/sandbox.ts";
import { tellUsedUp, watchUsedUp } from "../../sandbox/used-up.ts";

/** Where and how one git runs. */
export interface GitFolder {
  readonly sandbox: Sandbox;
  /** Absent: the workspace. */
  readonly path: string | undefined;
  readonly signal: AbortSignal;
}

export interface GitSettings {
  readonly config?: readonly (readonly [string, string])[];
  readonly env?: Readonly<Record<string, string>>;
  /** Taken out of all that comes back. */
  readonly secret?: string;
}

export interface GitOptions extends GitSettings {
  readonly input?: string;
  readonly timeoutMs?: number;
  readonly maxOutputBytes?: number;
  readonly onOutput?: (chunk: Buffer) => void;
  /** Exit codes that are answers; 0 alone unless it is given. */
  readonly accept?: readonly number[];
}

export interface GitAnswer {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  /** More came than `maxOutputBytes`. */
  readonly truncated: boolean;
}

const TIMEOUT_MS = 60_000;
const OUTPUT_BYTES = 2 * 1_048_576;
const SHOWN_MAX = 4_000;

/**
 * Nothing asks at a terminal or opens an editor; paths are never patterns; helpers that run a program of their own choice for a
 * transport (`ext::`) are off, as is the file system monitor, which is a program of the repository. Hooks and filters of a
 * repository do run, inside the sandbox, as for whoever types the command there.
 */
const ENV = {
  GIT_TERMINAL_PROMPT: "0",
  GIT_SSH_COMMAND: "ssh -oBatchMode=yes",
  GIT_EDITOR: "true",
  GIT_SEQUENCE_EDITOR: "true",
  GIT_PAGER: "cat",
  GIT_LITERAL_PATHSPECS: "1",
  GIT_ALLOW_PROTOCOL: "file:git:http:https:ssh",
  LC_ALL: "C.UTF-8",
};
const CONFIG = [
  ["core.fsmonitor", "false"],
  ["color.ui", "false"],
  ["maintenance.auto", "false"],
  ["gc.auto", "0"],
] as const;

/** For what git answers in one line. */
export const LINE_BYTES = 16_384;

/** For tools that only read: no index is refreshed on disk. */
export const READ_ONLY: GitSettings = { env: { GIT_OPTIONAL_LOCKS: "0" }, config: [["log.showSignature", "false"]] };

/** Rejects with `COMMAND_FAILED` and what git said, `EXEC_TIMEOUT`, or `COMMAND_NOT_FOUND` where there is no git. */
export async function runGit({ sandbox, path, signal }: GitFolder, args: readonly string[], options: GitOptions = {}): Promise<GitAnswer> {
  const { input, timeoutMs = TIMEOUT_MS, maxOutputBytes = OUTPUT_BYTES, onOutput, accept = [0] } = options;
  const findUsedUp = await watchUsedUp(sandbox);
  const request: RunOptions = {
    argv: ["git", ...args],
    env: { ...ENV, ...options.env, ...configVariables([...CONFIG, ...(options.config ?? [])]) },
    signal,
    timeoutMs,
    maxOutputBytes,
    ...(path !== undefined && { cwd: path }),
    ...(input !== undefined && { input }),
    ...(onOutput && { onOutput: (stream: "stdout" | "stderr", chunk: Buffer) => (stream === "stderr" ? onOutput(chunk) : undefined) }),
  };
  const result = await withProgram(sandbox, { program: "git", debianPackage: "git" }, () => sandbox.guest.run(request));
  const clean = (bytes: Buffer): string => withoutSecrets(bytes.toString("utf8"), options.secret);
  const answer = {
    exitCode: result.exitCode ?? 128,
    stdout: clean(result.stdout),
    stderr: clean(result.stderr),
    truncated: result.truncated,
  };
  if (result.timedOut) throw new BelljarError("EXEC_TIMEOUT", `git ${args[0]} was stopped after ${timeoutMs} ms; give a larger timeout_ms`);
  if (accept.includes(answer.exitCode)) return answer;
  throw gitFailure(args[0] ?? "", answer, tellUsedUp(await findUsedUp(result)));
}

/** `reasons`: what the sandbox had no more of. */
function gitFailure(command: string, { exitCode, stdout, stderr }: GitAnswer, reasons: readonly string[]): BelljarError {
  const said = [stderr, stdout].map((stream) => stream.trim()).filter((stream) => stream !== "");
  const end = said.join("\n").slice(-SHOWN_MAX);
  return new BelljarError(
    "COMMAND_FAILED",
    `${[`git ${command} exited with ${exitCode}`, ...reasons].join(", and ")}${end && `:\n${end}`}`,
  );
}

/** Settings travel in the environment, so that none stands on a command line. */
function configVariables(pairs: readonly (readonly [string, string])[]): Record<string, string> {
  const variables = pairs.flatMap(([key, value], index) => [
    [`GIT_CONFIG_KEY_${index}`, key],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ]);
  return Object.fromEntries([...variables, ["GIT_CONFIG_COUNT", String(pairs.length)]]) as Record<string, string>;
}

/** Addresses may hold a password that somebody wrote into a remote. A user's name has no slash: each character is looked at once. */
export function withoutSecrets(text: string, secret?: string): string {
  const clean = text.replaceAll(/:\/\/[^\s/@:]*:[^\s/@]*@/g, "://***@");
  return secret === undefined ? clean : clean.replaceAll(secret, "***");
}
