import { pipeline } from "node:stream/promises";
import type { Readable, Writable } from "node:stream";
import { ReadStream, WriteStream } from "node:tty";
import { BelljarError } from "../../errors.ts";
import type { CommandContext } from "../command.ts";

/** What a program in the terminal is told of it. */
export function terminalEnvironment(env: CommandContext["env"]): Readonly<Record<string, string>> {
  return { TERM: env["TERM"] ?? "xterm-256color", ...(env["LANG"] && { LANG: "C.UTF-8" }) };
}

/** The user's terminal in raw mode. Disposing it, or the end of the process, restores it. */
export interface Terminal extends Disposable {
  size(): { readonly rows: number; readonly cols: number };
  onResize(listener: (rows: number, cols: number) => void): void;
  /** Connects the terminal with a shell. Resolves when the shell's output has ended. */
  attach(shell: { readonly stdin: Writable; readonly stdout: Readable }, signal: AbortSignal): Promise<void>;
}

/** Throws `USAGE` if stdin or stdout is no terminal. `what` needs it. */
export function openTerminal({ stdin, stdout }: CommandContext, what: string): Terminal {
  if (!(stdin instanceof ReadStream) || !(stdout instanceof WriteStream)) {
    throw new BelljarError("USAGE", `\`belljar ${what}\` needs a terminal; use \`belljar exec ID ARGV...\` in a pipe`);
  }
  const restore = () => stdin.setRawMode(false);
  let onResize: (() => void) | undefined;
  process.once("exit", restore);
  return {
    size: () => ({ rows: stdout.rows || 24, cols: stdout.columns || 80 }),
    onResize(listener) {
      onResize = () => listener(stdout.rows, stdout.columns);
      stdout.on("resize", onResize);
    },
    async attach(shell, signal) {
      stdin.setRawMode(true);
      shell.stdin.on("error", () => stdin.unpipe(shell.stdin));
      stdin.pipe(shell.stdin);
      await pipeline(shell.stdout, stdout, { end: false, signal });
    },
    [Symbol.dispose]() {
      process.off("exit", restore);
      if (onResize) stdout.off("resize", onResize);
      stdin.unpipe();
      stdin.pause();
      restore();
    },
  };
}
