import { read } from "node:fs";
import type { Answers } from "./answers.ts";
import { toJsonText } from "./json-text.ts";

const CHANNEL_FD = 3;
const READ_BYTES = 262_144;
const LINE_FEED = 0x0a;
const NAME_CHARACTERS = 200;
const LIMITS = { maxBytes: 8 * 1_048_576 };

/** What a called tool answered. */
export interface Called {
  readonly value: unknown;
  readonly content: readonly { readonly type: string; readonly text?: string }[];
  readonly text: string;
}

/** A called tool has failed, or may not be called. */
class ToolError extends Error {
  override readonly name = "ToolError";
  readonly code: unknown;

  constructor(message: string, code: unknown) {
    super(message);
    this.code = code;
  }
}

/** Calls of other tools, which the host makes: one at a time, in order. */
export class Calls {
  readonly #answers: Answers;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(answers: Answers) {
    this.#answers = answers;
  }

  call(tool: unknown, args: unknown): Promise<Called> {
    const called = this.#turn.then(() => this.#call(tool, args));
    this.#turn = called.catch(() => undefined);
    return called;
  }

  async #call(tool: unknown, args: unknown = {}): Promise<Called> {
    if (typeof args !== "object" || args === null || Array.isArray(args)) throw new TypeError("The arguments of a tool are an object");
    this.#answers.ask(toJsonText({ tool: String(tool).slice(0, NAME_CHARACTERS), arguments: args }, LIMITS));
    const { isError, value, content } = JSON.parse(await readLine()) as Omit<Called, "text"> & { readonly isError: boolean };
    const text = content.flatMap((block) => (block.type === "text" ? [block.text ?? ""] : [])).join("\n");
    if (isError) throw new ToolError(text, (value as { readonly code?: unknown } | null)?.code);
    return { value, content, text };
  }
}

/** The host sends nothing but what was asked for, so nothing comes behind the line. */
async function readLine(): Promise<string> {
  const parts: Buffer[] = [];
  while (parts.at(-1)?.at(-1) !== LINE_FEED) parts.push(await readSome());
  return Buffer.concat(parts).toString("utf8");
}

function readSome(): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    read(CHANNEL_FD, Buffer.alloc(READ_BYTES), 0, READ_BYTES, null, (error, length, buffer) => {
      if (error || length === 0) reject(error ?? new Error("The host is gone"));
      else resolve(buffer.subarray(0, length));
    });
  });
}
