import { once } from "node:events";
import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { BelljarError } from "../errors.ts";
import type { CommandContext } from "./command.ts";

/** Reads a secret: one line from a prompt that does not show it, or all of stdin if it is no terminal, without the last line break. */
export async function readHidden(context: CommandContext, prompt: string, maxBytes: number): Promise<string> {
  return context.stdin.isTTY ? askHidden(context, prompt) : readInput(context, maxBytes);
}

async function askHidden({ stdin, stderr, signal }: CommandContext, prompt: string): Promise<string> {
  const unseen = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: stdin, output: unseen, terminal: true, historySize: 0 });
  // The terminal is in raw mode, so Ctrl+C is an ordinary key. Turn it into a signal.
  lines.on("SIGINT", () => process.kill(process.pid, "SIGINT"));
  stderr.write(prompt);
  try {
    const closed = once(lines, "close", { signal });
    const [line] = (await Promise.race([once(lines, "line", { signal }), closed])) as [string?];
    if (line === undefined) throw new BelljarError("CANCELLED", "Nothing was given");
    return line;
  } finally {
    lines.close();
    stderr.write("\n");
  }
}

async function readInput({ stdin }: CommandContext, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stdin as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes + "\r\n".length) throw new BelljarError("ARGUMENTS_INVALID", `stdin holds more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks)
    .toString("utf8")
    .replace(/\r?\n$/, "");
}
