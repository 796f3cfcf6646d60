import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { TestHome } from "./served-home.ts";
import { CLI } from "./served-home.ts";

/** A command that goes on and prints lines; disposing it ends it. */
export interface StartedBelljar extends AsyncDisposable {
  /** The next line that matches. Rejects when the command ends before. */
  line(pattern: RegExp): Promise<string>;
}

export function startBelljar(home: TestHome, ...argv: string[]): StartedBelljar {
  const child = spawn(process.execPath, [CLI, ...argv], { env: home.env, stdio: ["ignore", "pipe", "inherit"] });
  const exited = once(child, "exit");
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async line(pattern) {
      for (;;) {
        const { value, done } = await lines.next();
        if (done) throw new Error(`It ended without a line like ${pattern}`);
        if (pattern.test(value)) return value;
      }
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await exited;
    },
  };
}
