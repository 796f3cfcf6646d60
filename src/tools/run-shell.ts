import type { ToolContext } from "../catalog/tool.ts";
import { BelljarError } from "../errors.ts";
import type { OutputWindows } from "../interpreter/output-window.ts";
import { openOutputWindows } from "../interpreter/output-window.ts";
import type { ExecExit, Sandbox } from "../sandbox/sandbox.ts";
import { openOutputProgress } from "./output-progress.ts";

export interface ShellCommand {
  readonly command: string;
  readonly cwd?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly timeoutMs: number;
  /** Of each stream. */
  readonly heldBytes: number;
}

export interface ShellResult {
  readonly exit: ExecExit;
  readonly windows: OutputWindows;
}

/** One command line of bash, of sh where there is no bash; the caller sees its last line as progress. */
export async function runShell(sandbox: Sandbox, context: ToolContext, command: ShellCommand): Promise<ShellResult> {
  const windows = openOutputWindows(command.heldBytes);
  using progress = openOutputProgress((told) => context.progress(told));
  const run = (shell: string) =>
    sandbox.guest.run({
      argv: [shell, "-c", command.command],
      signal: context.signal,
      timeoutMs: command.timeoutMs,
      maxOutputBytes: 0,
      ...(command.cwd !== undefined && { cwd: command.cwd }),
      ...(command.env && { env: command.env }),
      onOutput: (stream, chunk) => {
        windows[stream].push(chunk);
        progress.push(chunk);
      },
    });
  try {
    return { exit: await run("bash"), windows };
  } catch (error) {
    if (error instanceof BelljarError && error.code === "COMMAND_NOT_FOUND") return { exit: await run("sh"), windows };
    throw error;
  }
}
