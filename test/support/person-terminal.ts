import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { CliHome } from "./belljar-cli.ts";

const ROOT = join(import.meta.dirname, "../..");

/** A person at a real terminal. Disposing it ends the command. */
export interface PersonTerminal extends AsyncDisposable {
  type(text: string): void;
  /** Resolves when the terminal has shown this, rejects when the command ends without. */
  shows(pattern: RegExp): Promise<void>;
  /** What it shows until the command ends, without the terminal's own carriage returns. */
  end(): Promise<{ readonly code: number | null; readonly shown: string; readonly said: string }>;
}

export interface TerminalOptions {
  readonly cwd?: string;
  readonly cols?: number;
  readonly env?: Readonly<Record<string, string>>;
}

/** The built CLI in a terminal of 30 rows. */
export function runInTerminal(
  cli: CliHome,
  argv: readonly string[],
  { cwd = cli.folder, cols, env }: TerminalOptions = {},
): PersonTerminal {
  const own = { BELLJAR_HOME: cli.home, BELLJAR_STORAGE: "home" };
  return openTerminal([join(ROOT, "bin/belljar.js"), ...argv], { cwd, ...(cols !== undefined && { cols }), env: { ...own, ...env } });
}

/** A program of Node's in a terminal of 30 rows. */
export function openTerminal(argv: readonly string[], { cwd = ROOT, cols = 100, env = {} }: TerminalOptions = {}): PersonTerminal {
  const command = [process.execPath, ...argv];
  const { PAGER: _pager, LESS: _less, NO_COLOR: _colour, ...inherited } = process.env;
  const child = spawn("python3", [join(ROOT, "test/fixtures/in-terminal.py"), "30", String(cols), ...command], {
    env: { ...inherited, TERM: "xterm", ...env },
    cwd,
  });
  const closed = once(child, "close");
  let [shown, said] = ["", ""];
  child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
  child.stdout.on("data", (chunk: Buffer) => (shown += chunk.toString()));
  return {
    type: (text) => void child.stdin.write(text),
    shows: (pattern) =>
      new Promise((resolve, reject) => {
        const look = () => pattern.test(shown) && resolve();
        look();
        child.stdout.on("data", look);
        child.stdout.once("end", () => reject(new Error(`It never showed ${pattern}, but:\n${shown}`)));
      }),
    async end() {
      const [code] = (await closed) as [number | null];
      return { code, shown: shown.replaceAll("\r\n", "\n"), said };
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await closed;
    },
  };
}
