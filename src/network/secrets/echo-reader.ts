import type { EchoPattern, EchoPatterns } from "./echo-patterns.ts";
import { SKIP_MAX } from "./echo-patterns.ts";
import type { EscapeState } from "./escapes.ts";
import { beginEscape, NOTHING, OUTSIDE, stepEscape } from "./escapes.ts";

/** Position of a value, and its replacement. */
export interface EchoMatch {
  readonly start: number;
  readonly end: number;
  readonly put: Buffer;
}

/** A begun match of a pattern. */
interface Run {
  readonly pattern: EchoPattern;
  readonly length: number;
  readonly skipped: number;
  readonly start: number;
}

/**
 * One way to read the bytes so far. An escape may itself be escaped: the outer escapes are decoded first, and their characters may form
 * inner escapes.
 */
export interface Reading {
  readonly outer: EscapeState;
  readonly outerStart: number;
  readonly inner: EscapeState;
  readonly innerStart: number;
  readonly runs: readonly Run[];
}

/** A character, and the range of its bytes. */
interface Sign {
  readonly unit: number;
  readonly start: number;
  readonly end: number;
}

/** The reading without any begun escape or match. */
export const PLAIN: Reading = { outer: OUTSIDE, outerStart: Infinity, inner: OUTSIDE, innerStart: Infinity, runs: [] };
/** Marks the end after the last byte. It is no character of any pattern. */
const THE_END = 0x11_00_00;
const NUL = 0;
const WIDE = 0x1_00_00;

/**
 * Returns the readings after one more byte. Equal readings are joined, so that each byte costs a bounded number of steps. If there are too
 * many readings, it drops them all and calls `full`.
 */
export function readByte(reader: EchoReader, readings: readonly Reading[], unit: number, at = 0): readonly Reading[] {
  const kept: Reading[] = [];
  for (const reading of readings) readOuter(reader, reading, { unit, start: at, end: at + 1 }, kept);
  const { waysMax, runsMax } = reader.patterns;
  if (kept.length <= waysMax && kept.every(({ runs }) => runs.length <= runsMax)) return kept;
  reader.full?.();
  return [PLAIN];
}

export interface EchoReader {
  readonly patterns: EchoPatterns;
  readonly found: (match: EchoMatch) => void;
  /** Called when all readings are dropped. */
  readonly full?: () => void;
}

function readOuter(reader: EchoReader, reading: Reading, sign: Sign, kept: Reading[]): void {
  const { outer, outerStart, inner, innerStart, runs } = reading;
  if (outer === OUTSIDE) {
    readInner(reader, reading, sign, kept);
    const begun = beginEscape(sign.unit);
    if (begun !== OUTSIDE) keep(kept, { outer: begun, outerStart: sign.start, inner, innerStart, runs });
    return;
  }
  // In UTF-16 and UTF-32, NUL bytes stand between the characters of an escape too.
  if (sign.unit === NUL) return keep(kept, reading);
  const step = stepEscape(outer, sign.unit, reader.patterns.most);
  if (!step) return;
  if (step.state !== OUTSIDE) return keep(kept, { outer: step.state, outerStart, inner, innerStart, runs });
  const plain = { outer: OUTSIDE, outerStart: Infinity, inner, innerStart, runs };
  const whole = { unit: step.unit, start: outerStart, end: step.isUnread ? sign.start : sign.end };
  if (!step.isUnread) return readInner(reader, plain, whole, kept);
  const after: Reading[] = [];
  readInner(reader, plain, whole, after);
  for (const one of after) readOuter(reader, one, sign, kept);
}

function readInner(reader: EchoReader, reading: Reading, sign: Sign, kept: Reading[]): void {
  const { outer, outerStart, inner, innerStart, runs } = reading;
  if (sign.unit === NOTHING) return keep(kept, reading);
  if (inner === OUTSIDE) {
    keep(kept, plainWith(advance(reader, runs, sign)));
    const begun = beginEscape(sign.unit);
    if (begun !== OUTSIDE) keep(kept, { outer, outerStart, inner: begun, innerStart: sign.start, runs });
    return;
  }
  if (sign.unit === NUL) return keep(kept, reading);
  const step = stepEscape(inner, sign.unit, reader.patterns.most);
  if (!step) return;
  if (step.state !== OUTSIDE) return keep(kept, { outer, outerStart, inner: step.state, innerStart, runs });
  const whole = { unit: step.unit, start: innerStart, end: step.isUnread ? sign.start : sign.end };
  const after = plainWith(step.unit === NOTHING ? runs : advance(reader, runs, whole));
  if (step.isUnread) readInner(reader, after, sign, kept);
  else keep(kept, after);
}

function plainWith(runs: readonly Run[]): Reading {
  return runs.length === 0 ? PLAIN : { ...PLAIN, runs };
}

function advance(reader: EchoReader, runs: readonly Run[], sign: Sign): readonly Run[] {
  if (sign.unit >= WIDE && sign.unit < THE_END) {
    const pair = String.fromCodePoint(sign.unit);
    const high = advance(reader, runs, { ...sign, unit: pair.charCodeAt(0) });
    return advance(reader, high, { ...sign, unit: pair.charCodeAt(1) });
  }
  const begun = reader.patterns.begunBy(sign.unit);
  if (runs.length === 0 && begun.length === 0) return runs;
  const next: Run[] = [];
  for (const run of runs) follow(reader, run, sign, next);
  for (const pattern of begun)
    if (!next.some((run) => run.pattern === pattern)) follow(reader, { pattern, length: 0, skipped: 0, start: sign.start }, sign, next);
  return next;
}

/** Continues a run with a character. If it does not fit, falls back along the pattern's borders (Knuth, Morris and Pratt). */
function follow(reader: EchoReader, run: Run, { unit, start, end }: Sign, next: Run[]): void {
  const { pattern } = run;
  const { units, borders, alphabet } = pattern;
  const folded = alphabet.fold(unit);
  if (folded !== units[run.length]) {
    const skip = alphabet.skip(unit);
    if (skip > 0 && run.skipped + skip <= SKIP_MAX) return addRun(next, { ...run, skipped: run.skipped + skip });
  }
  let length = run.length;
  while (length > 0 && folded !== units[length]) length = borders[length - 1] ?? 0;
  if (folded !== units[length]) return;
  const began = startOfBorder(run, length, start);
  if (length + 1 < units.length) return addRun(next, { pattern, length: length + 1, skipped: 0, start: began });
  reader.found({ start: began, end, put: pattern.put });
  const border = borders[length] ?? 0;
  const whole = { pattern, length: units.length, skipped: 0, start: began };
  if (border > 0) addRun(next, { pattern, length: border, skipped: 0, start: startOfBorder(whole, border, end) });
}

/** Returns the start of a border at the end of a run. If characters have several bytes, it returns the run's start, which masks more. */
function startOfBorder(run: Run, length: number, end: number): number {
  if (length === run.length) return run.start;
  return length === 0 || end - run.start === run.length ? end - length : run.start;
}

/** Adds a reading. Readings with the same escape states are joined. */
function keep(kept: Reading[], reading: Reading): void {
  for (let index = 0; index < kept.length; index++) {
    const one = kept[index] as Reading;
    if (one.outer !== reading.outer || one.inner !== reading.inner) continue;
    if (reading.runs.length > 0)
      kept[index] = one.runs.length === 0 ? { ...one, runs: reading.runs } : { ...one, runs: join(one.runs, reading.runs) };
    return;
  }
  kept.push(reading);
}

function join(some: readonly Run[], others: readonly Run[]): readonly Run[] {
  const runs = [...some];
  for (const run of others) addRun(runs, run);
  return runs;
}

function addRun(runs: Run[], run: Run): void {
  for (const { pattern, length } of runs) if (pattern === run.pattern && length === run.length) return;
  runs.push(run);
}

/**
 * Returns the matches that the last byte of the range completes (with `isLast`: that the end completes). `openFrom` is the start of the
 * earliest begun match or escape.
 */
export function locateEchoes(
  patterns: EchoPatterns,
  bytes: Buffer,
  { start, end, isLast = false }: { readonly start: number; readonly end: number; readonly isLast?: boolean },
): { readonly matches: readonly EchoMatch[]; readonly openFrom: number } {
  let matches: EchoMatch[] = [];
  let readings: readonly Reading[] = [PLAIN];
  const reader = { patterns, found: (match: EchoMatch) => void matches.push(match) };
  for (let at = start; at < end + Number(isLast); at++) {
    matches = [];
    readings = readByte(reader, readings, at < end ? (bytes[at] as number) : THE_END, at);
  }
  return { matches, openFrom: readings.reduce((least, reading) => Math.min(least, startOf(reading)), end) };
}

function startOf({ outerStart, innerStart, runs }: Reading): number {
  return runs.reduce((least, { start }) => Math.min(least, start), Math.min(outerStart, innerStart));
}
