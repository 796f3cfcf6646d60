import { readdirSync, statSync, watch } from "node:fs";
import { open, stat } from "node:fs/promises";
import { join } from "node:path";
import { BelljarError } from "../errors.ts";
import { ifPresent } from "../files/file-error.ts";
import { parseAuditLine } from "./audit-line.ts";
import { splitLines } from "./read-lines.ts";
import { listSegments } from "./verify-audit.ts";

/** One line of the audit, as its segment has it. */
export interface AuditLine {
  readonly at: string;
  readonly kind: string;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly text: string;
}

/** What segments say of themselves; all else tells what happened. */
const OF_SEGMENTS = new Set(["segment", "next"]);

/** Of each segment so much of its end is looked at. */
const TAIL_BYTES = 262_144;
/** Segments that were written last; older ones have nothing new. */
const SEGMENTS_MAX = 50;

/** The last lines of all segments together, the newest last. */
export async function readAuditTail(directory: string, count: number): Promise<readonly AuditLine[]> {
  const files = await newestSegments(directory);
  const tails = await Promise.all(files.map(({ file, size }) => readLines(join(directory, file), Math.max(0, size - TAIL_BYTES))));
  return tails
    .flatMap(({ lines }) => lines)
    .toSorted((one, other) => (one.at < other.at ? -1 : Number(one.at > other.at)))
    .slice(-count);
}

/** Lines that are written after the first one was asked for, until the signal aborts. The folder must be there. */
export async function* followAudit(directory: string, signal: AbortSignal): AsyncGenerator<AuditLine> {
  const read = sizesNow(directory);
  const changes = new Changes(directory, signal);
  // What was written before the watch began.
  for (const file of await listSegments(directory)) changes.note(file);
  for await (const file of changes) {
    const { lines, end } = await readLines(join(directory, file), read.get(file) ?? 0);
    read.set(file, end);
    yield* lines;
  }
}

/** At this very moment: what comes later is new. */
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

/** None for a segment that was removed meanwhile. */
async function factsOf(directory: string, file: string) {
  const path = join(directory, file);
  const found = await ifPresent(path, stat(path));
  return found ? [{ file, size: found.size, mtimeMs: found.mtimeMs }] : [];
}

/** The whole lines from there on, and where they end. A start within a line leaves that line out. A file that is gone has none. */
async function readLines(path: string, start: number): Promise<{ readonly lines: readonly AuditLine[]; readonly end: number }> {
  await using file = await ifPresent(path, open(path));
  if (!file) return { lines: [], end: 0 };
  const { size } = await file.stat();
  const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.max(0, size - start)), 0, Math.max(0, size - start), start);
  const whole = buffer.subarray(0, buffer.subarray(0, bytesRead).lastIndexOf(0x0a) + 1);
  const lines = splitLines(whole).flatMap(parseLine);
  return { lines, end: start + whole.length };
}

/** None for what is no line, as one that begins before the part that was read. */
function parseLine(bytes: Uint8Array): readonly AuditLine[] {
  try {
    const { at, kind, fields } = parseAuditLine(bytes);
    return OF_SEGMENTS.has(kind) ? [] : [{ at, kind, fields, text: new TextDecoder().decode(bytes) }];
  } catch (error) {
    if (error instanceof BelljarError) return [];
    throw error;
  }
}

/** Names of files that changed, each once until it was taken. */
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
