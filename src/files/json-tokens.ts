/** JSON of one message: as many brackets, commas, colons and texts are read without a notable stop of this process. */
export const TOKENS_MAX = 200_000;
/** What a value takes in memory beside its own bytes. */
export const TOKEN_BYTES = 64;
/** Of a message: itself, its parameters, and what belongs to the protocol in them. */
const NEAR_THE_TOP = 3;

/** How much JSON is read. */
export interface TokenBound {
  readonly max: number;
  /** What an entry near the top counts for: more, where a reader looks at each of them several times. */
  readonly entry: number;
}

const READ_ONCE: TokenBound = { max: TOKENS_MAX, entry: 1 };

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
  readonly #bound: TokenBound;
  #count = 0;
  #level = 0;
  #isText = false;
  #isEscaped = false;

  /** It counts no further than beyond the bound. */
  constructor(bound: TokenBound = READ_ONCE) {
    this.#bound = bound;
  }

  get isTooMuch(): boolean {
    return this.#count > this.#bound.max;
  }

  get count(): number {
    return this.#count;
  }

  add(piece: Uint8Array): void {
    const { max, entry } = this.#bound;
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
      else if (byte === COLON) count += level <= NEAR_THE_TOP ? entry : 1;
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
export function countTokens(json: Uint8Array, bound?: TokenBound): number {
  const tokens = new JsonTokens(bound);
  tokens.add(json);
  return tokens.count;
}

/** Whether JSON has more tokens than that. Default: more than are read without a notable stop of this process. */
export function hasManyTokens(json: Uint8Array, bound: TokenBound = READ_ONCE): boolean {
  return countTokens(json, bound) > bound.max;
}
