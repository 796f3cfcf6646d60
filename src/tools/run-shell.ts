import type { ToolContext } from "../catalog/tool.ts";
import { BelljarError } from "../errors.ts";
import { OutputWindow } from "../interpreter/output-window.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { openOutputProgress } from "./output-progress.ts";

export interface ShellCommand {
  readonly command: string;
  readonly cwd?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly timeoutMs: number;
  /** Of each stream. */
  readonly keptBytes: number;
}

export interface ShellResult {
  readonly exit: Omit<Awaited<ReturnType<Sandbox["guest"]["run"]>>, "stdout" | "stderr" | "truncated">;
  readonly stdout: OutputWindow;
  readonly stderr: OutputWindow;
}

/** One command line of bash, of sh where there is no bash; the caller sees its last line as progress. */
export async function runShell(sandbox: Sandbox, context: ToolContext, command: ShellCommand): Promise<ShellResult> {
  const [stdout, stderr] = [new OutputWindow(command.keptBytes), new OutputWindow(command.keptBytes)];
  using progress = openOutputProgress((message) => context.progress(message));
  const run = (shell: string) =>
    sandbox.guest.run({
      argv: [shell, "-c", command.command],
      signal: context.signal,
      timeoutMs: command.timeoutMs,
      maxOutputBytes: 0,
      ...(command.cwd !== undefined && { cwd: command.cwd }),
      ...(command.env && { env: command.env }),
      onOutput: (stream, chunk) => {
        (stream === "stdout" ? stdout : stderr).push(chunk);
        progress.push(chunk);
      },
    });
  try {
    return { exit: await run("bash"), stdout, stderr };
  } catch (error) {
    if (error instanceof BelljarError && error.code === "COMMAND_NOT_FOUND") return { exit: await run("sh"), stdout, stderr };
    throw error;
  }
}
