import type { ToolContext } from "../catalog/tool.ts";
import { BelljarError } from "../errors.ts";
import { withProgram } from "../interpreter/missing-program.ts";
import type { OutputWindows } from "../interpreter/output-window.ts";
import { openOutputWindows } from "../interpreter/output-window.ts";
import type { ExecExit, Sandbox } from "../sandbox/sandbox.ts";
import { openOutputProgress } from "./output-progress.ts";

export interface ShellCommand {
  readonly command: string;
  readonly cwd?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Default: the user of the sandbox's commands. */
  readonly user?: string | undefined;
  /** The command is killed then. Absent: whoever started it sees to its end. */
  readonly timeoutMs?: number | undefined;
  /** Of each stream. */
  readonly heldBytes: number;
}

export interface ShellResult {
  readonly exit: ExecExit;
  readonly windows: OutputWindows;
}

/** A command that runs for one call. Disposing it kills the command, unless `leave` gave it to somebody else. */
export interface RunningShell extends Disposable {
  /** Empty once it was left: it may run for days. */
  readonly windows: OutputWindows;
  /** Undefined until it runs. */
  readonly pid: number | undefined;
  readonly exited: Promise<ExecExit>;
  /** Aborts when the command is killed. */
  readonly signal: AbortSignal;
  /** From now on the call's end ends it no more, and its output goes to `take`. */
  leave(take: (chunk: Buffer) => Promise<void>): void;
  kill(): void;
}

/** One command line of bash, of sh where there is no bash; the caller sees its last line as progress. */
export async function runShell(sandbox: Sandbox, context: ToolContext, command: ShellCommand): Promise<ShellResult> {
  using running = startShell(sandbox, context, command);
  return { exit: await running.exited, windows: running.windows };
}

export function startShell(sandbox: Sandbox, context: ToolContext, command: ShellCommand): RunningShell {
  let windows = openOutputWindows(command.heldBytes);
  const progress = openOutputProgress((told) => context.progress(told));
  const controller = new AbortController();
  const kill = (): void => controller.abort(context.signal.reason);
  let pid: number | undefined;
  let left: ((chunk: Buffer) => Promise<void>) | undefined;
  let hasEnded = false;
  const release = (): void => {
    progress[Symbol.dispose]();
    context.signal.removeEventListener("abort", kill);
  };
  const run = (shell: string) =>
    sandbox.guest.run({
      argv: [shell, "-c", command.command],
      signal: controller.signal,
      maxOutputBytes: 0,
      ...(command.timeoutMs !== undefined && { timeoutMs: command.timeoutMs }),
      ...(command.cwd !== undefined && { cwd: command.cwd }),
      ...(command.env && { env: command.env }),
      ...(command.user !== undefined && { user: command.user }),
      onStarted: (started) => (pid = started),
      onOutput: (stream, chunk) => {
        if (left) return left(chunk);
        windows[stream].push(chunk);
        return progress.push(chunk);
      },
    });
  context.signal.addEventListener("abort", kill, { once: true });
  if (context.signal.aborted) kill();
  return {
    signal: controller.signal,
    exited: runWithShell(sandbox, run).finally(() => (hasEnded = true)),
    kill,
    get pid() {
      return pid;
    },
    get windows() {
      return windows;
    },
    leave(take) {
      left = take;
      windows = openOutputWindows(0);
      release();
    },
    [Symbol.dispose]() {
      release();
      if (!left && !hasEnded) kill();
    },
  };
}

async function runWithShell(sandbox: Sandbox, run: (shell: string) => Promise<ExecExit>): Promise<ExecExit> {
  try {
    return await run("bash");
  } catch (error) {
    if (error instanceof BelljarError && error.code === "COMMAND_NOT_FOUND")
      return withProgram(sandbox, { program: "shell (bash or sh)" }, () => run("sh"));
    throw error;
  }
}
