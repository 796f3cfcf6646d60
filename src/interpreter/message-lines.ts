import type * as z from "zod";

/** Longer lines are skipped. Pictures come as base64 in one line; no program of Belljar's sends one that is longer. */
const LINE_MAX_BYTES = 8 * 1_048_576;
/** JSON of one line: as many brackets, commas and texts are read without a notable stop of this process. */
const TOKENS_MAX = 200_000;
/** What a value takes here beside its own bytes. */
const TOKEN_BYTES = 64;
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
    const message = tokens > 0 ? this.#parse(line) : undefined;
    if (message) this.#reader.take(message, line.length + tokens * TOKEN_BYTES);
  }

  #parse(line: Buffer): Message | undefined {
    try {
      return this.#schema.safeParse(JSON.parse(line.toString("utf8"))).data;
    } catch (error) {
      if (error instanceof SyntaxError) return undefined;
      throw error;
    }
  }
}

const LINE_FEED = 0x0a;
const OPENING = 0x7b;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const STRUCTURE: ReadonlySet<number> = new Set(Buffer.from("{}[],:"));

/** Whether JSON has more values than are read without a notable stop of this process. */
export function hasManyTokens(json: Buffer): boolean {
  return countTokens(json) > TOKENS_MAX;
}

/** Counts the brackets, commas and texts of the line, up to one more than are read. One pass, which skips the texts. */
function countTokens(line: Buffer): number {
  let tokens = 0;
  for (let at = 0; at < line.length && tokens <= TOKENS_MAX; at++) {
    const byte = line[at] ?? 0;
    if (byte === QUOTE) at = endOfText(line, at + 1);
    if (byte === QUOTE || STRUCTURE.has(byte)) tokens++;
  }
  return tokens;
}

/** Where the text ends that begins at `from`. */
function endOfText(line: Buffer, from: number): number {
  for (let end = line.indexOf(QUOTE, from); end >= 0; end = line.indexOf(QUOTE, end + 1)) {
    let slashes = 0;
    while (end - slashes > from && line[end - slashes - 1] === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return end;
  }
  return line.length;
}
