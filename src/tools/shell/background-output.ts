import { BelljarError } from "../../errors.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import type { BackgroundProcess } from "./background-processes.ts";
import { findBackground, folderOf } from "./background-processes.ts";
import { SEGMENT_BYTES } from "./background-scripts.ts";

export interface OutputSlice {
  readonly process: BackgroundProcess;
  readonly text: string;
  /** Where the text begins; past what was asked for when older output is gone. */
  readonly offset: number;
  /** Where the next call goes on. */
  readonly nextOffset: number;
  /** Bytes that the process has printed in all. */
  readonly total: number;
}

export interface SliceOptions {
  readonly id: string;
  /** Absent: the end of what there is. */
  readonly offset: number | undefined;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

const ATTEMPTS = 4;

/**
 * What stands at an offset of a process's output. The oldest files go while it is read: then it looks again, each time nearer to the end.
 * Nothing, at the end, if the process writes faster than that.
 */
export async function readOutput(sandbox: Sandbox, options: SliceOptions): Promise<OutputSlice> {
  for (let attempt = 0; ; attempt += 1) {
    const process = await findSettled(sandbox, options);
    const skipped = attempt < ATTEMPTS ? 1 - 0.5 ** attempt : 1;
    try {
      return await readSlice(sandbox, process, { ...options, skipped });
    } catch (error) {
      if (!(error instanceof BelljarError && error.code === "FILE_NOT_FOUND")) throw error;
    }
  }
}

/** All output of a process that has ended is there before its end is: what was seen in the same moment may be older. */
async function findSettled(sandbox: Sandbox, { id, signal }: SliceOptions): Promise<BackgroundProcess> {
  const process = await findBackground(sandbox, id, signal);
  return process.state === "running" ? process : findBackground(sandbox, id, signal);
}

/** `skipped`: how much of what is kept, from its beginning, is not read. All of it: no file is. */
type SliceWish = SliceOptions & { readonly skipped: number };

async function readSlice(sandbox: Sandbox, process: BackgroundProcess, wish: SliceWish): Promise<OutputSlice> {
  const { offset, maxBytes, signal, skipped } = wish;
  const { first, total } = extent(process.segments);
  const wanted = offset ?? Math.max(0, total - maxBytes);
  const start = Math.min(Math.max(wanted, Math.ceil(first + (total - first) * skipped)), total);
  const end = Math.min(total, start + maxBytes);
  const parts: Buffer[] = [];
  for (let at = start; at < end;) {
    const [number, within] = [Math.floor(at / SEGMENT_BYTES), at % SEGMENT_BYTES];
    const limit = Math.min(end - at, SEGMENT_BYTES - within);
    const part = await sandbox.guest.files.read(`${folderOf(process.id)}/out.${number}`, { offset: within, limit, signal });
    parts.push(part);
    if (part.length < limit) break;
    at += limit;
  }
  const bytes = Buffer.concat(parts);
  // Elsewhere than asked the slice begins anywhere; while more may come, its last character may be half there.
  const from = start === offset ? 0 : characterStart(bytes);
  const to = end < total || process.state === "running" ? characterEnd(bytes) : bytes.length;
  return { process, text: bytes.subarray(from, to).toString("utf8"), offset: start + from, nextOffset: start + Math.max(from, to), total };
}

function extent(segments: ReadonlyMap<number, number>): { readonly first: number; readonly total: number } {
  const numbers = [...segments.keys()];
  // An empty file behind one that is not full is the end of the output being found.
  if (segments.get(numbers.at(-1) ?? 0) === 0 && (segments.get(numbers.at(-2) ?? -1) ?? SEGMENT_BYTES) < SEGMENT_BYTES) numbers.pop();
  const [oldest = 0, newest = 0] = [numbers[0], numbers.at(-1)];
  return { first: oldest * SEGMENT_BYTES, total: newest * SEGMENT_BYTES + (segments.get(newest) ?? 0) };
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

/** Past what is left of a character whose start was cut off. */
function characterStart(bytes: Buffer): number {
  let at = 0;
  while (at < 3 && isContinuation(bytes[at])) at += 1;
  return at;
}

/** Before a character whose end has not come. Bytes that are no UTF-8 are not held back. */
function characterEnd(bytes: Buffer): number {
  let start = bytes.length - 1;
  while (start > bytes.length - 4 && isContinuation(bytes[start])) start -= 1;
  const lead = bytes[start] ?? 0;
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  return start + length > bytes.length && start > 0 ? start : bytes.length;
}
