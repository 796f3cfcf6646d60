import type { Transform } from "node:stream";
import type { EchoMatch } from "./echo-reader.ts";
import { locateEchoes } from "./echo-reader.ts";
import type { EchoScanner, ScanPosition } from "./echo-scanner.ts";
import { createSlicedTransform } from "./sliced-transform.ts";

/** Replaces bytes with too many possible values to follow. */
const TOO_MUCH = Buffer.from("********");

/** Masks values in a stream of chunks. It holds back only bytes that may begin a value, so that events pass at once. */
export class EchoMask {
  readonly #scanner: EchoScanner;
  readonly #keepsLength: boolean;
  readonly #place: ScanPosition = { state: 0, start: 0, isFull: false };
  #held: Buffer = Buffer.alloc(0);
  /** All bytes in `held` before this position are already masked. */
  #hiddenTo = 0;
  /** Matches that are not written yet, ordered by their starts, without overlaps. */
  #matches: EchoMatch[] = [];

  /** With `keepsLength`, each byte of a value becomes a star. */
  constructor(scanner: EchoScanner, { keepsLength }: { readonly keepsLength: boolean }) {
    this.#scanner = scanner;
    this.#keepsLength = keepsLength;
  }

  /** Adds bytes, and returns the bytes that may be passed on now. */
  push(chunk: Buffer): Buffer {
    const from = this.#held.length;
    const bytes = from === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    for (let end = this.#scanner.next(bytes, from, this.#place); end !== undefined; end = this.#scanner.next(bytes, end, this.#place))
      this.#hide(bytes, end);
    this.#held = bytes;
    return this.#release(this.#place.start);
  }

  /** Returns the rest. The end may complete a value that was held back. */
  end(): Buffer {
    const end = this.#held.length;
    const { matches } = locateEchoes(this.#scanner.patterns, this.#held, { start: this.#startFor(end), end, isLast: true });
    for (const match of matches) this.#add(match);
    return this.#release(end);
  }

  /** Masks the values that end here. If the reader gave up, masks all bytes that a begun value may cover. */
  #hide(bytes: Buffer, end: number): void {
    const { patterns } = this.#scanner;
    const start = this.#startFor(end);
    const { matches, openFrom } = this.#place.isFull ? { matches: [], openFrom: end } : locateEchoes(patterns, bytes, { start, end });
    for (const match of matches) this.#add(match);
    if (matches.length === 0) this.#add({ start, end: end + patterns.holdBytes, put: TOO_MUCH });
    this.#place.start = openFrom;
  }

  #startFor(end: number): number {
    return Math.max(this.#place.start, end - this.#scanner.patterns.holdBytes);
  }

  /** Joins overlapping matches, such as a value that is part of another value. */
  #add(match: EchoMatch): void {
    let whole = match;
    for (let last = this.#matches.at(-1); last && last.end > whole.start; last = this.#matches.at(-1)) {
      const { put } = whole.start <= last.start ? whole : last;
      whole = { start: Math.min(whole.start, last.start), end: Math.max(whole.end, last.end), put };
      this.#matches.pop();
    }
    this.#matches.push(whole);
  }

  #release(to: number): Buffer {
    const parts: Buffer[] = [];
    let at = 0;
    const pass = (end: number): void => {
      const shownFrom = Math.min(Math.max(at, this.#hiddenTo), end);
      if (this.#keepsLength && shownFrom > at) parts.push(stars(shownFrom - at));
      if (end > shownFrom) parts.push(this.#held.subarray(shownFrom, end));
      at = Math.max(at, end);
    };
    for (let next = this.#matches[0]; next && next.start < to; next = this.#matches[0]) {
      pass(next.start);
      if (!this.#keepsLength && next.start >= this.#hiddenTo) parts.push(next.put);
      this.#hiddenTo = Math.max(this.#hiddenTo, next.end);
      this.#matches.shift();
    }
    pass(to);
    this.#held = Buffer.from(this.#held.subarray(to));
    this.#hiddenTo = Math.max(0, this.#hiddenTo - to);
    this.#place.start -= to;
    this.#matches = this.#matches.map((match) => ({ ...match, start: match.start - to, end: match.end - to }));
    return join(parts);
  }
}

export function maskEchoes(scanner: EchoScanner, bytes: Buffer): Buffer {
  const mask = new EchoMask(scanner, { keepsLength: false });
  return Buffer.concat([mask.push(bytes), mask.end()]);
}

export function createMaskStream(scanner: EchoScanner): Transform {
  const mask = new EchoMask(scanner, { keepsLength: false });
  return createSlicedTransform({ push: (piece) => mask.push(piece), end: () => mask.end() });
}

function stars(length: number): Buffer {
  return Buffer.alloc(length, "*");
}

function join(parts: readonly Buffer[]): Buffer {
  const [first = Buffer.alloc(0), ...more] = parts;
  return more.length === 0 ? first : Buffer.concat([first, ...more]);
}
