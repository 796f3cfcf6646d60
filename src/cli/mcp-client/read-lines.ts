import { once } from "node:events";
import { createInterface } from "node:readline/promises";
import { printable } from "../../files/printable.ts";
import type { CommandContext } from "../command.ts";

/** Asks for a line in the terminal. Undefined once its input has ended. */
export type AskLine = (prompt: string) => Promise<string | undefined>;

/** Reads lines of the terminal, or of a pipe, while the work goes on. A question rejects when `other` or the command's signal aborts. */
export async function withLines<Value>(
  { stdin, stderr, signal }: CommandContext,
  other: AbortSignal | undefined,
  work: (ask: AskLine) => Promise<Value>,
): Promise<Value> {
  const lines = createInterface({ input: stdin, terminal: false });
  const closed = once(lines, "close").then(() => undefined);
  const until = other ? AbortSignal.any([signal, other]) : signal;
  try {
    return await work(async (prompt) => {
      stderr.write(printable(prompt));
      const line = await Promise.race([lines.question("", { signal: until }), closed]);
      if (line === undefined) stderr.write("\n");
      return line;
    });
  } finally {
    lines.close();
  }
}

/** Asks until the answer is one of both. Undefined once the input has ended. */
export async function askYesNo(ask: AskLine, question: string): Promise<"y" | "n" | undefined> {
  for (;;) {
    const line = (await ask(`${question} [y,n] `))?.trim().toLowerCase();
    if (line === undefined || line === "y" || line === "n") return line;
  }
}
