import type { Glob, Token } from "./glob.ts";

const WORD_BITS = 32;
/** Characters whose masks are kept; those of all others are made each time, in one place. */
const MASKS_MAX = 1_024;
const SLASH = "/";

/** Where in the patterns the text so far may have led: a bit for each token, and one after the last of each alternative. */
export type GlobState = Uint32Array;

type SetToken = Extract<Token, { readonly kind: "set" }>;

/**
 * Matches a path against many globs at once. All places in all patterns are bits, and a character moves all of them in a few
 * operations on words: the time is in proportion to the length of the path and of the patterns, whatever they are.
 */
export class GlobMatcher {
  readonly #tokens: readonly (Token | undefined)[];
  readonly #words: number;
  readonly #starts: GlobState;
  readonly #ends: GlobState;
  /** Tokens that a character other than a slash, or a slash, leaves where they are. */
  readonly #staying: { readonly name: GlobState; readonly slash: GlobState };
  /** Tokens that may stand for nothing, within a name and where one starts. */
  readonly #free: { readonly name: GlobState; readonly start: GlobState };
  /** Places of tokens that are one character, by it. */
  readonly #texts = new Map<string, number[]>();
  readonly #ones: GlobState;
  readonly #sets: readonly CharacterSet[];
  readonly #masks = new Map<string, GlobState>();
  readonly #scratch: GlobState;

  constructor(globs: readonly Glob[]) {
    this.#tokens = globs.flat().flatMap((tokens) => [...tokens, undefined]);
    this.#words = Math.ceil(this.#tokens.length / WORD_BITS);
    this.#scratch = new Uint32Array(this.#words);
    this.#ends = this.#where((token) => token === undefined);
    this.#staying = { name: this.#whereKind("star", "folders", "rest"), slash: this.#whereKind("folders", "rest") };
    this.#free = { name: this.#whereKind("star", "rest"), start: this.#whereKind("star", "rest", "folders") };
    this.#ones = this.#whereKind("one");
    this.#sets = this.#tokens.flatMap((token, place) => (token?.kind === "set" ? [toCharacterSet(token, place)] : []));
    for (const [place, token] of this.#tokens.entries()) if (token?.kind === "text") this.#noteText(token.char, place);
    this.#starts = this.#where((_token, place) => place === 0 || this.#tokens[place - 1] === undefined);
    this.#skipFree(this.#starts, this.#free.start);
  }

  /** A state of its own for the caller to move. */
  start(): GlobState {
    return this.#starts.slice();
  }

  /** Moves the state on by one character. */
  step(state: GlobState, char: string): void {
    const isSlash = char === SLASH;
    const mask = this.#maskOf(char);
    const staying = isSlash ? this.#staying.slash : this.#staying.name;
    let carry = 0;
    for (let word = 0; word < this.#words; word += 1) {
      const places = state[word] ?? 0;
      const taken = places & (mask[word] ?? 0);
      state[word] = (taken << 1) | carry | (places & (staying[word] ?? 0));
      carry = taken >>> (WORD_BITS - 1);
    }
    this.#skipFree(state, isSlash ? this.#free.start : this.#free.name);
  }

  /** Whether the text so far is what one of the globs means. */
  isMatch(state: GlobState): boolean {
    for (let word = 0; word < this.#words; word += 1) if ((state[word] ?? 0) & (this.#ends[word] ?? 0)) return true;
    return false;
  }

  matches(path: string): boolean {
    const state = this.start();
    for (const char of path) this.step(state, char);
    return this.isMatch(state);
  }

  /** At most two tokens in a row may stand for nothing: `**` before a slash, and a star or `**` after it. */
  #skipFree(state: GlobState, free: GlobState): void {
    for (let round = 0; round < 2; round += 1) {
      let carry = 0;
      for (let word = 0; word < this.#words; word += 1) {
        const skipped = (state[word] ?? 0) & (free[word] ?? 0);
        state[word] = (state[word] ?? 0) | (skipped << 1) | carry;
        carry = skipped >>> (WORD_BITS - 1);
      }
    }
  }

  /** The tokens that take this character and are done with it. */
  #maskOf(char: string): GlobState {
    const known = this.#masks.get(char);
    if (known) return known;
    const isKept = this.#masks.size < MASKS_MAX;
    const mask = isKept ? new Uint32Array(this.#words) : this.#scratch;
    if (char === SLASH) mask.fill(0);
    else mask.set(this.#ones);
    for (const place of this.#texts.get(char) ?? []) setBit(mask, place);
    const code = char.codePointAt(0) ?? 0;
    if (char !== SLASH) for (const set of this.#sets) if (isInSet(set, code)) setBit(mask, set.place);
    if (isKept) this.#masks.set(char, mask);
    return mask;
  }

  #noteText(char: string, place: number): void {
    this.#texts.set(char, this.#texts.get(char) ?? []);
    this.#texts.get(char)?.push(place);
  }

  #whereKind(...kinds: readonly Token["kind"][]): GlobState {
    return this.#where((token) => token !== undefined && kinds.includes(token.kind));
  }

  #where(isSet: (token: Token | undefined, place: number) => boolean): GlobState {
    const state = new Uint32Array(this.#words);
    for (const [place, token] of this.#tokens.entries()) if (isSet(token, place)) setBit(state, place);
    return state;
  }
}

function setBit(state: GlobState, place: number): void {
  const word = Math.floor(place / WORD_BITS);
  state[word] = (state[word] ?? 0) | (1 << (place % WORD_BITS));
}

interface CharacterSet {
  readonly place: number;
  readonly isNegated: boolean;
  /** First and last of each range, one after the other. */
  readonly bounds: Uint32Array;
}

function toCharacterSet({ ranges, isNegated }: SetToken, place: number): CharacterSet {
  return { place, isNegated, bounds: Uint32Array.from(ranges.flat()) };
}

function isInSet({ bounds, isNegated }: CharacterSet, code: number): boolean {
  for (let at = 0; at < bounds.length; at += 2) if (code >= (bounds[at] ?? 0) && code <= (bounds[at + 1] ?? 0)) return !isNegated;
  return isNegated;
}
