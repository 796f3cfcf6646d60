import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Interface } from "node:readline";
import type { CommandContext } from "../command.ts";

/** Lines of a pipe, or of a person who is shown a prompt. Between two lines the terminal is free for what a tool asks. */
export async function* readMessages({ stdin, stderr, signal }: CommandContext, prompt: string): AsyncGenerator<string, void, undefined> {
  if (stdin.isTTY !== true || stderr.isTTY !== true) {
    yield* createInterface({ input: stdin, terminal: false, signal });
    return;
  }
  let history: string[] = [];
  for (;;) {
    const lines = createInterface({ input: stdin, output: stderr, terminal: true, history, prompt });
    lines.on("history", (now: string[]) => (history = now));
    lines.on("SIGINT", () => lines.close());
    const line = await oneLine(lines, signal);
    if (line === undefined) return;
    yield line;
  }
}

/** Undefined once the input has ended. */
async function oneLine(lines: Interface, signal: AbortSignal): Promise<string | undefined> {
  try {
    lines.prompt();
    const closed = once(lines, "close", { signal });
    const [line] = (await Promise.race([once(lines, "line", { signal }), closed])) as [string?];
    return line;
  } finally {
    lines.close();
  }
}
