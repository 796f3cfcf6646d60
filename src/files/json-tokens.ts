/** JSON of one message: as many brackets, commas, colons and texts are read without a notable stop of this process. */
export const TOKENS_MAX = 200_000;
/** What a value takes in memory beside its own bytes. */
export const TOKEN_BYTES = 64;
/** A message, its parameters, and what belongs to the protocol in them: whoever reads a message looks at each entry there, several times. */
const LOOKED_AT_LEVELS = 3;
/** What such an entry counts for. */
const LOOKED_AT = 25;

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
/** What each byte adds to the levels. */
const LEVELS = new Int8Array(256);
for (const byte of Buffer.from("{[")) LEVELS[byte] = 1;
for (const byte of Buffer.from("}]")) LEVELS[byte] = -1;

/**
 * Counts the brackets, commas, colons and texts of JSON that comes in pieces, because the time that it takes to read is theirs. A text ends with its
 * line, as JSON has it: what is no JSON can hide nothing that comes after it.
 */
export class JsonTokens {
  readonly #max: number;
  #count = 0;
  #level = 0;
  #isText = false;
  #isEscaped = false;

  /** `max`: it counts no further than to one more, or a few. */
  constructor(max: number = TOKENS_MAX) {
    this.#max = max;
  }

  get count(): number {
    return this.#count;
  }

  add(piece: Uint8Array): void {
    const max = this.#max;
    let [count, level, isText, isEscaped] = [this.#count, this.#level, this.#isText, this.#isEscaped];
    for (let at = 0; at < piece.length && count <= max; at += 1) {
      const byte = piece[at] ?? 0;
      if (byte === LINE_FEED || byte === CARRIAGE_RETURN) isText = isEscaped = false;
      else if (isEscaped) isEscaped = false;
      else if (isText) {
        if (byte === QUOTE) isText = false;
        else if (byte === BACKSLASH) isEscaped = true;
      } else if (byte === QUOTE) {
        isText = true;
        count += 1;
      } else if (byte === COMMA) count += 1;
      else if (byte === COLON) count += level <= LOOKED_AT_LEVELS ? LOOKED_AT : 1;
      else if (LEVELS[byte] !== 0) {
        level += LEVELS[byte] ?? 0;
        count += 1;
      }
    }
    [this.#count, this.#level, this.#isText, this.#isEscaped] = [count, level, isText, isEscaped];
  }

  clear(): void {
    [this.#count, this.#level, this.#isText, this.#isEscaped] = [0, 0, false, false];
  }
}

/** The tokens of the JSON, as `JsonTokens` counts them. */
export function countTokens(json: Uint8Array, max?: number): number {
  const tokens = new JsonTokens(max);
  tokens.add(json);
  return tokens.count;
}

/** Whether JSON has more tokens than that. Default: more than are read without a notable stop of this process. */
export function hasManyTokens(json: Uint8Array, max: number = TOKENS_MAX): boolean {
  return countTokens(json, max) > max;
}
