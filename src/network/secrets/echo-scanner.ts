import type { EchoPatterns } from "./echo-patterns.ts";
import type { Reading } from "./echo-reader.ts";
import { PLAIN, readByte } from "./echo-reader.ts";

/** The position of a scan: its state, and the start of the earliest begun match. */
export interface ScanPosition {
  state: number;
  start: number;
  /** True if the reader dropped its readings. The bytes that they may cover must be masked. */
  isFull: boolean;
}

/** The state without any begun match. */
const IDLE = 0;
/** Flag of a table entry: a value ends with the byte. The other bits are the next state. */
const FOUND = 0x80_00;
/** Flag of a table entry: the reader drops its readings at the byte. */
const FULL = 0x40_00;
/** Table entry that is not learned yet. */
const UNKNOWN = 0xff_ff;
/** Maximum number of states. If a hostile answer leads to more, all are forgotten and learned again. */
const STATES_MAX = 2048;
const FIRST_STATES = 16;
const QUIET = 1;
const LOUD = 16;

/**
 * Finds the ends of values with one table lookup for each byte. It is an automaton whose states are the sets of readings of `readByte`.
 * The table is learned from the bytes that come.
 */
export class EchoScanner {
  readonly patterns: EchoPatterns;
  #states: (readonly Reading[])[] = [];
  #ids = new Map<string, number>();
  #table = new Uint16Array(0);
  /** For each pair of bytes: whether nothing is begun after it, if nothing was begun before it. */
  #pairs = new Uint8Array(65_536);

  constructor(patterns: EchoPatterns) {
    this.patterns = patterns;
    this.#forget();
  }

  /** Scans from `from`. Returns the position after the first byte that ends a value or makes the reader give up, or undefined. */
  next(bytes: Buffer, from: number, place: ScanPosition): number | undefined {
    let table = this.#table;
    let { state } = place;
    for (let at = from; at < bytes.length; at++) {
      if (state === IDLE) {
        place.start = at = this.#skip(bytes, at);
        if (at === bytes.length) break;
      }
      let after = table[(state << 8) | (bytes[at] as number)] as number;
      if (after === UNKNOWN) {
        after = this.#learn(state, bytes[at] as number);
        table = this.#table;
      }
      if (after >= FULL) {
        place.state = after & (FULL - 1);
        place.isFull = (after & FULL) !== 0;
        return at + 1;
      }
      state = after;
    }
    place.state = state;
    place.start = state === IDLE ? bytes.length : Math.max(place.start, bytes.length - this.patterns.holdBytes);
    return undefined;
  }

  /** Skips bytes that begin nothing. Returns a position at or just before a byte that does. */
  #skip(bytes: Buffer, from: number): number {
    const pairs = this.#pairs;
    const last = bytes.length - 1;
    let at = from;
    for (;;) {
      // Eight bytes in one step, with independent table lookups.
      while (
        at + 8 <= last &&
        (pairs[((bytes[at] as number) << 8) | (bytes[at + 1] as number)] as number) +
          (pairs[((bytes[at + 2] as number) << 8) | (bytes[at + 3] as number)] as number) +
          (pairs[((bytes[at + 4] as number) << 8) | (bytes[at + 5] as number)] as number) +
          (pairs[((bytes[at + 6] as number) << 8) | (bytes[at + 7] as number)] as number) ===
          4 * QUIET
      )
        at += 8;
      if (at >= last || this.#learnPair(((bytes[at] as number) << 8) | (bytes[at + 1] as number)) !== QUIET) return at;
      at += 2;
    }
  }

  #learnPair(pair: number): number {
    const known = this.#pairs[pair] as number;
    if (known !== 0) return known;
    const first = this.#step(IDLE, pair >> 8);
    const isQuiet = first < FULL && this.#step(first, pair & 0xff) === IDLE;
    return (this.#pairs[pair] = isQuiet ? QUIET : LOUD);
  }

  #step(state: number, byte: number): number {
    const known = this.#table[(state << 8) | byte] as number;
    return known === UNKNOWN ? this.#learn(state, byte) : known;
  }

  #learn(state: number, byte: number): number {
    let found = 0;
    const reader = { patterns: this.patterns, found: () => (found |= FOUND), full: () => (found |= FULL) };
    const readings = readByte(reader, this.#states[state] ?? [], byte);
    const known = this.#states.length;
    const id = this.#idOf(readings);
    const hasForgotten = this.#states.length < known;
    if (!hasForgotten) this.#table[(state << 8) | byte] = found + id;
    return found + id;
  }

  #idOf(readings: readonly Reading[]): number {
    const key = keyOf(readings);
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    if (this.#states.length === STATES_MAX) this.#forget();
    return this.#add(key, readings);
  }

  #add(key: string, readings: readonly Reading[]): number {
    const id = this.#states.push(readings) - 1;
    this.#ids.set(key, id);
    if (id << 8 < this.#table.length) return id;
    const grown = new Uint16Array(Math.max(FIRST_STATES * 256, this.#table.length * 2)).fill(UNKNOWN);
    grown.set(this.#table);
    this.#table = grown;
    return id;
  }

  #forget(): void {
    this.#states = [];
    this.#ids.clear();
    this.#table = new Uint16Array(0);
    this.#add(keyOf([PLAIN]), [PLAIN]);
  }
}

/** Returns equal keys for readings that continue in the same way, wherever they began. */
function keyOf(readings: readonly Reading[]): string {
  const keys = readings.map(({ outer, inner, runs }) => {
    const found = runs.map(({ pattern, length, skipped }) => `${pattern.id}.${length}.${skipped}`);
    return `${outer} ${inner} ${found.toSorted().join()}`;
  });
  return keys.toSorted().join("|");
}
