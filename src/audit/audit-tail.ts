import { readdirSync, statSync, watch } from "node:fs";
import { open, stat } from "node:fs/promises";
import { join } from "node:path";
import { BelljarError } from "../errors.ts";
import { ifPresent } from "../files/file-error.ts";
import { parseAuditLine } from "./audit-line.ts";
import { splitLines } from "./read-lines.ts";
import { listSegments } from "./verify-audit.ts";

/** One line of the audit, as it stands in its segment. */
export interface AuditLine {
  readonly at: string;
  readonly kind: string;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly text: string;
}

/** Kinds of lines that describe segments. All other lines describe events. */
const OF_SEGMENTS = new Set(["segment", "next"]);

/** Only this much of each segment's end is read. */
const TAIL_BYTES = 262_144;
/** Only so many of the latest segments are read. */
const SEGMENTS_MAX = 50;

/** Returns the last lines of all segments together. The newest line is the last. */
export async function readAuditTail(directory: string, count: number): Promise<readonly AuditLine[]> {
  const files = await newestSegments(directory);
  const tails = await Promise.all(files.map(({ file, size }) => readLines(join(directory, file), Math.max(0, size - TAIL_BYTES))));
  return tails
    .flatMap(({ lines }) => lines)
    .toSorted((one, other) => (one.at < other.at ? -1 : Number(one.at > other.at)))
    .slice(-count);
}

/** Yields the lines that are written from now on, until the signal aborts. The folder must exist. */
export async function* followAudit(directory: string, signal: AbortSignal): AsyncGenerator<AuditLine> {
  const read = sizesNow(directory);
  const changes = new Changes(directory, signal);
  // Covers lines that were written before the watch began.
  for (const file of await listSegments(directory)) changes.note(file);
  for await (const file of changes) {
    const { lines, end } = await readLines(join(directory, file), read.get(file) ?? 0);
    read.set(file, end);
    yield* lines;
  }
}

/** Synchronous, so that it is exact: all later bytes are new. */
function sizesNow(directory: string): Map<string, number> {
  const files = readdirSync(directory).filter((name) => name.endsWith(".jsonl"));
  return new Map(files.map((file) => [file, statSync(join(directory, file), { throwIfNoEntry: false })?.size ?? 0]));
}

async function newestSegments(directory: string): Promise<readonly { readonly file: string; readonly size: number }[]> {
  const files = await listSegments(directory);
  const found = await Promise.all(files.map((file) => factsOf(directory, file)));
  return found
    .flat()
    .toSorted((one, other) => other.mtimeMs - one.mtimeMs)
    .slice(0, SEGMENTS_MAX);
}

/** Returns an empty list for a segment that was removed meanwhile. */
async function factsOf(directory: string, file: string) {
  const path = join(directory, file);
  const found = await ifPresent(path, stat(path));
  return found ? [{ file, size: found.size, mtimeMs: found.mtimeMs }] : [];
}

/** Returns the complete lines from `start` on, and their end. Leaves out a line that begins before `start`. A missing file has no lines. */
async function readLines(path: string, start: number): Promise<{ readonly lines: readonly AuditLine[]; readonly end: number }> {
  await using file = await ifPresent(path, open(path));
  if (!file) return { lines: [], end: 0 };
  const { size } = await file.stat();
  const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.max(0, size - start)), 0, Math.max(0, size - start), start);
  const whole = buffer.subarray(0, buffer.subarray(0, bytesRead).lastIndexOf(0x0a) + 1);
  const lines = splitLines(whole).flatMap(parseLine);
  return { lines, end: start + whole.length };
}

/** Returns an empty list for bytes that are no audit line, such as the rest of a line that begins before `start`. */
function parseLine(bytes: Uint8Array): readonly AuditLine[] {
  try {
    const { at, kind, fields } = parseAuditLine(bytes);
    return OF_SEGMENTS.has(kind) ? [] : [{ at, kind, fields, text: new TextDecoder().decode(bytes) }];
  } catch (error) {
    if (error instanceof BelljarError) return [];
    throw error;
  }
}

/** Yields the names of changed files. A file that changes several times before it is taken is yielded once. */
class Changes implements AsyncIterable<string> {
  readonly #changed = new Set<string>();
  readonly #directory: string;
  readonly #signal: AbortSignal;
  #wake: () => void = () => undefined;

  constructor(directory: string, signal: AbortSignal) {
    this.#directory = directory;
    this.#signal = signal;
  }

  note(file: string): void {
    if (file.endsWith(".jsonl")) this.#changed.add(file);
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<string> {
    const watcher = watch(this.#directory, (_event, file) => this.note(file ?? ""));
    const wake = (): void => this.#wake();
    this.#signal.addEventListener("abort", wake);
    try {
      while (!this.#signal.aborted) {
        const [file] = this.#changed;
        if (file === undefined) await new Promise<void>((resolve) => (this.#wake = resolve));
        else {
          this.#changed.delete(file);
          yield file;
        }
      }
    } finally {
      this.#signal.removeEventListener("abort", wake);
      watcher.close();
    }
  }
}
