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
export class ToolError extends Error {
  override readonly name = "ToolError";
  readonly code: unknown;

  constructor(message: string, code: unknown) {
    super(message);
    this.code = code;
  }
}

interface Answer extends Omit<Called, "text"> {
  readonly id: number;
  readonly isError: boolean;
}

interface Waiting {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (cause: unknown) => void;
}

/** Calls of other tools, which the host makes: in order, and at most so many at once. */
export class Calls {
  readonly #answers: Answers;
  readonly #concurrent: number;
  readonly #queue: (() => void)[] = [];
  readonly #waiting = new Map<number, Waiting>();
  readonly #lines = new Lines();
  #count = 0;
  #isReading = false;

  constructor(answers: Answers, concurrent = 1) {
    this.#answers = answers;
    this.#concurrent = concurrent;
  }

  async call(tool: unknown, args: unknown = {}): Promise<Called> {
    if (typeof args !== "object" || args === null || Array.isArray(args)) throw new TypeError("The arguments of a tool are an object");
    const id = this.#count++;
    // As they are now: the code may change them while it waits.
    const body = toJsonText({ id, tool: String(tool).slice(0, NAME_CHARACTERS), arguments: args }, LIMITS);
    const { isError, value, content } = await new Promise<Answer>((resolve, reject) => {
      this.#queue.push(() => {
        this.#waiting.set(id, { resolve, reject });
        this.#answers.ask(body);
      });
      this.#next();
    });
    const text = content.flatMap((block) => (block.type === "text" ? [block.text ?? ""] : [])).join("\n");
    if (isError) throw new ToolError(text, (value as { readonly code?: unknown } | null)?.code);
    return { value, content, text };
  }

  #next(): void {
    while (this.#waiting.size < this.#concurrent) {
      const ask = this.#queue.shift();
      if (!ask) break;
      ask();
    }
    if (!this.#isReading && this.#waiting.size > 0) void this.#read();
  }

  /** Only while an answer is to come: what waits for one keeps the process alive. */
  async #read(): Promise<void> {
    this.#isReading = true;
    try {
      while (this.#waiting.size > 0) {
        const answer = JSON.parse(await this.#lines.next()) as Answer;
        const waiting = this.#waiting.get(answer.id);
        this.#waiting.delete(answer.id);
        waiting?.resolve(answer);
        this.#next();
      }
    } catch (cause) {
      for (const { reject } of this.#waiting.values()) reject(cause);
      this.#waiting.clear();
    } finally {
      this.#isReading = false;
    }
  }
}

class Lines {
  #parts: Buffer[] = [];

  async next(): Promise<string> {
    for (;;) {
      const last = this.#parts.at(-1);
      const end = last?.indexOf(LINE_FEED) ?? -1;
      if (!last || end === -1) {
        this.#parts.push(await readSome());
        continue;
      }
      const line = Buffer.concat([...this.#parts.slice(0, -1), last.subarray(0, end)]);
      this.#parts = end + 1 < last.length ? [last.subarray(end + 1)] : [];
      return line.toString("utf8");
    }
  }
}

function readSome(): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    read(CHANNEL_FD, Buffer.alloc(READ_BYTES), 0, READ_BYTES, null, (error, length, buffer) => {
      if (error || length === 0) reject(error ?? new Error("The host is gone"));
      else resolve(buffer.subarray(0, length));
    });
  });
}
