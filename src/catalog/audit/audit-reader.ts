import { createReadStream } from "node:fs";
import { open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { FIRST_PREVIOUS, chain } from "./audit-chain.ts";

/** One process's part of the audit, checked. */
export interface VerifiedSegment {
  readonly file: string;
  readonly lines: number;
  /** The first line that does not fit the chain, from 1; absent when all do. */
  readonly brokenLine?: number;
  /** The last line is not whole: its writer was killed as it wrote, or writes just now. */
  readonly isCut?: true;
}

const LINE = /^(\{.*),"hash":"([0-9a-f]{64})"\}$/;

/** The segments of an audit folder by their names, which begin with their time; none when there is no folder. */
export async function listSegments(directory: string): Promise<readonly string[]> {
  try {
    return (await readdir(directory)).filter((name) => name.endsWith(".jsonl")).toSorted();
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  }
}

/** Checks that every line's hash covers the line and the hash before it. Reads line by line, however long the file. */
export async function verifySegment(directory: string, file: string): Promise<VerifiedSegment> {
  const path = join(directory, file);
  const isCut = !(await endsWithNewline(path));
  let previous = FIRST_PREVIOUS;
  let lines = 0;
  let waiting: string | undefined;
  const input = createReadStream(path);
  const check = (line: string): boolean => {
    lines += 1;
    const [, body, hash] = LINE.exec(line) ?? [];
    const fits = body !== undefined && hash === chain(previous, `${body}}`);
    previous = hash ?? previous;
    return fits;
  };
  try {
    for await (const line of createInterface({ input, crlfDelay: Infinity })) {
      if (waiting !== undefined && !check(waiting)) return { file, lines, brokenLine: lines };
      waiting = line;
    }
  } finally {
    input.destroy();
  }
  if (isCut) return { file, lines, isCut: true };
  return waiting === undefined || check(waiting) ? { file, lines } : { file, lines, brokenLine: lines };
}

async function endsWithNewline(path: string): Promise<boolean> {
  await using file = await open(path);
  const { size } = await file.stat();
  if (size === 0) return true;
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer[0] === 0x0a;
}
