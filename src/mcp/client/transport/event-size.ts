import type { BelljarError } from "../../../errors.ts";
import { JsonTokens } from "../../../files/json-tokens.ts";
import { MESSAGE_MAX_BYTES, MESSAGE_TOKENS } from "./message-lines.ts";

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** How large the event is that a stream of events is in, whose bytes may be cut anywhere. An empty line ends it. */
export class EventSize {
  readonly #tooLarge: () => BelljarError;
  readonly #tokens = new JsonTokens(MESSAGE_TOKENS);
  #bytes = 0;
  #lineBytes = 0;
  #last = 0;

  constructor(tooLarge: () => BelljarError) {
    this.#tooLarge = tooLarge;
  }

  /** Gives the tokens of the piece. Throws `tooLarge` for an event that is larger than a message may be. */
  add(piece: Uint8Array): number {
    let tokens = 0;
    let from = 0;
    for (let at = 0; at < piece.length; at += 1) {
      const byte = piece[at] ?? 0;
      const isLineEnd = byte === LINE_FEED || byte === CARRIAGE_RETURN;
      if (isLineEnd && !(byte === LINE_FEED && this.#last === CARRIAGE_RETURN)) {
        if (this.#lineBytes === 0) {
          tokens += this.#count(piece.subarray(from, at));
          from = at;
          this.#bytes = 0;
          this.#tokens.clear();
        }
        this.#lineBytes = 0;
      } else if (!isLineEnd) this.#lineBytes += 1;
      this.#last = byte;
    }
    return tokens + this.#count(piece.subarray(from));
  }

  #count(part: Uint8Array): number {
    const before = this.#tokens.count;
    this.#bytes += part.length;
    if (this.#bytes > MESSAGE_MAX_BYTES) throw this.#tooLarge();
    this.#tokens.add(part);
    if (this.#tokens.isTooMuch) throw this.#tooLarge();
    return this.#tokens.count - before;
  }
}
