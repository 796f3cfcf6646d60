import { createInterface } from "node:readline/promises";
import type { CommandContext } from "./command.ts";

/** Asks the person at the terminal. Anything but a yes is a no. */
export async function confirm({ stdin, stderr, signal }: CommandContext, question: string): Promise<boolean> {
  const lines = createInterface({ input: stdin, output: stderr });
  try {
    return /^y(es)?$/i.test((await lines.question(`${question} [y/N] `, { signal })).trim());
  } finally {
    lines.close();
  }
}
