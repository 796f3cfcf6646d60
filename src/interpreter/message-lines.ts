import type * as z from "zod";
import { countTokens, TOKEN_BYTES, TOKENS_MAX } from "../files/json-tokens.ts";
import { parseJson } from "../files/parse-json.ts";

/** Longer lines are skipped. Pictures come as base64 in one line; no program of Belljar's sends one that is longer. */
const LINE_MAX_BYTES = 8 * 1_048_576;
/** Chunks of an unfinished line that are held before they are joined. */
const PARTS_MAX = 1_024;

export interface LinesOptions<Message> {
  readonly schema: z.ZodType<Message>;
  /** Lines without this text are passed over, and not parsed. */
  readonly mark?: string;
}

export interface LineReader<Message> {
  /** `size`: what the message takes here, in bytes. A value of a few bytes is an object of many. */
  take(message: Message, size: number): void;
  /** A line was too long, or had too many values. */
  skip(): void;
}

/** Cuts a channel of a sandbox into lines, and reads each as a message. Lines of other text are passed over. */
export class MessageLines<Message> {
  readonly #schema: z.ZodType<Message>;
  readonly #mark: string | undefined;
  readonly #reader: LineReader<Message>;
  #held: Buffer[] = [];
  #heldBytes = 0;

  constructor({ schema, mark }: LinesOptions<Message>, reader: LineReader<Message>) {
    this.#schema = schema;
    this.#mark = mark;
    this.#reader = reader;
  }

  push(chunk: Buffer): void {
    let at = 0;
    for (let end = chunk.indexOf(LINE_FEED, at); end >= 0; end = chunk.indexOf(LINE_FEED, at)) {
      this.#hold(chunk.subarray(at, end));
      this.#read();
      at = end + 1;
    }
    this.#hold(chunk.subarray(at));
  }

  /** Of a line that is too long, nothing is kept but its size. */
  #hold(part: Buffer): void {
    this.#heldBytes += part.length;
    if (this.#heldBytes > LINE_MAX_BYTES) this.#held = [];
    else if (part.length > 0) this.#held.push(part);
    if (this.#held.length > PARTS_MAX) this.#held = [Buffer.concat(this.#held)];
  }

  #read(): void {
    const line = Buffer.concat(this.#held);
    const isTooLong = this.#heldBytes > LINE_MAX_BYTES;
    this.#held = [];
    this.#heldBytes = 0;
    const isOurs = line[0] === OPENING && (this.#mark === undefined || line.includes(this.#mark));
    const tokens = isOurs ? countTokens(line) : 0;
    if (isTooLong || tokens > TOKENS_MAX) return this.#reader.skip();
    const message = tokens > 0 ? this.#schema.safeParse(parseJson(line.toString("utf8"))).data : undefined;
    if (message) this.#reader.take(message, line.length + tokens * TOKEN_BYTES);
  }
}

const LINE_FEED = 0x0a;
const OPENING = 0x7b;
