import type { BelljarError } from "../../../errors.ts";
import { JsonTokens } from "../../../files/json-tokens.ts";
import { GrowingBytes } from "./growing-bytes.ts";
import { MESSAGE_MAX_BYTES, MESSAGE_TOKENS } from "./message-lines.ts";

const LINE_END = 0x0a;
const FIELD = "data:";

/** The data of the events of a stream (`text/event-stream`), whose bytes may be cut anywhere. Lines end with LF or CR LF. */
export class EventStream {
  readonly #line = new GrowingBytes();
  readonly #tooLarge: () => BelljarError;
  readonly #eventTokens = new JsonTokens(MESSAGE_TOKENS);
  #data: string[] = [];
  #bytes = 0;
  #tokens = 0;

  constructor(tooLarge: () => BelljarError) {
    this.#tooLarge = tooLarge;
  }

  /** Of all events, as if they were JSON. */
  get tokens(): number {
    return this.#tokens;
  }

  /** What ends in this chunk. Throws `tooLarge` for an event that is larger than a message may be. */
  *read(chunk: Buffer): Generator<string, void, undefined> {
    let from = 0;
    for (let end = chunk.indexOf(LINE_END); end !== -1; end = chunk.indexOf(LINE_END, from)) {
      this.#append(chunk.subarray(from, end));
      from = end + 1;
      const data = this.#take(this.#line.take().toString("utf8").replace(/\r$/, ""));
      if (data !== undefined) yield data;
    }
    this.#append(chunk.subarray(from));
  }

  #append(part: Buffer): void {
    const before = this.#eventTokens.count;
    this.#bytes += part.length;
    this.#eventTokens.add(part);
    this.#tokens += this.#eventTokens.count - before;
    if (this.#bytes > MESSAGE_MAX_BYTES || this.#eventTokens.isTooMuch) throw this.#tooLarge();
    this.#line.append(part);
  }

  /** An empty line ends an event. */
  #take(line: string): string | undefined {
    if (line !== "") {
      if (line.startsWith(FIELD)) this.#data.push(line.slice(FIELD.length).replace(/^ /, ""));
      return undefined;
    }
    const data = this.#data;
    this.#data = [];
    this.#bytes = 0;
    this.#eventTokens.clear();
    return data.length > 0 ? data.join("\n") : undefined;
  }
}
