import type { ByteReader } from "./byte-reader.ts";
import { invalidImage } from "./image-error.ts";

const FRAME_MAGIC = 0xfd2fb528;
const SKIPPABLE_MAGIC = 0x184d2a5;
const BLOCK_MAX_BYTES = 131_072;
/** The most that image tools ask for. The decoder moves the whole window for each block, so a larger one holds the event loop. */
export const WINDOW_MAX_BYTES = 32 * 1024 ** 2;

export interface FrameHeader {
  readonly windowBytes: number;
  readonly hasChecksum: boolean;
}

export interface Block {
  /** The header and the body. */
  readonly bytes: Uint8Array;
  readonly isLast: boolean;
  /** No block yields more. */
  readonly mostBytes: number;
}

const BLOCK_KINDS = ["raw", "rle", "compressed"] as const;

/** Returns the header of the next frame, or undefined at the end. Skippable frames, in which some tools keep an index, are skipped. */
export async function readFrameHeader(reader: ByteReader): Promise<FrameHeader | undefined> {
  for (;;) {
    const magic = await reader.take(4);
    if (magic.length === 0) return undefined;
    const number = readNumber(magic, 4);
    if (number === FRAME_MAGIC) return readHeader(reader);
    if (number >>> 4 !== SKIPPABLE_MAGIC) throw broken("there is something else between its frames");
    const length = readNumber(await reader.take(4), 4);
    if ((await reader.skip(length)) < length) throw broken("it ends early");
  }
}

/** RFC 8878, 3.1.1.1. */
async function readHeader(reader: ByteReader): Promise<FrameHeader> {
  const flags = readNumber(await reader.take(1), 1);
  const isSingleSegment = (flags & 0x20) !== 0;
  const hasChecksum = (flags & 0x04) !== 0;
  if ((flags & 0x08) !== 0) throw broken("a reserved bit is set");
  const window = isSingleSegment ? 0 : toWindow(readNumber(await reader.take(1), 1));
  const dictionaryLength = [0, 1, 2, 4][flags & 3] ?? 0;
  if (readNumber(await reader.take(dictionaryLength), dictionaryLength) !== 0) throw broken("it needs a dictionary");
  const sizeLength = [isSingleSegment ? 1 : 0, 2, 4, 8][flags >> 6] ?? 0;
  const contentBytes = readNumber(await reader.take(sizeLength), sizeLength) + (sizeLength === 2 ? 256 : 0);
  const windowBytes = isSingleSegment ? contentBytes : window;
  if (windowBytes > WINDOW_MAX_BYTES) throw broken(`it needs a window of ${windowBytes} bytes, and ${WINDOW_MAX_BYTES} are the most`);
  return { windowBytes, hasChecksum };
}

function toWindow(descriptor: number): number {
  const base = 2 ** (10 + (descriptor >> 3));
  return base + (base / 8) * (descriptor & 7);
}

/** RFC 8878, 3.1.1.2. */
export async function readBlock(reader: ByteReader): Promise<Block> {
  const header = await reader.take(3);
  const number = readNumber(header, 3);
  const [kind, size] = [BLOCK_KINDS[(number >> 1) & 3], number >> 3];
  if (kind === undefined || size > BLOCK_MAX_BYTES) throw broken("one of its blocks is invalid");
  const length = kind === "rle" ? 1 : size;
  const body = await reader.take(length);
  if (body.length < length) throw broken("it ends early");
  return { bytes: Buffer.concat([header, body]), isLast: (number & 1) !== 0, mostBytes: kind === "compressed" ? BLOCK_MAX_BYTES : size };
}

/** The digest of the whole layer proves more than a frame's checksum. */
export async function skipChecksum(reader: ByteReader): Promise<void> {
  if ((await reader.skip(4)) < 4) throw broken("it ends early");
}

/** A header of the simplest kind, for a window of at least so many bytes. */
export function writeFrameHeader(windowBytes: number): Uint8Array {
  let descriptor = 0;
  while (toWindow(descriptor) < windowBytes) descriptor += 1;
  return Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0, descriptor);
}

export function broken(why: string, cause?: unknown): ReturnType<typeof invalidImage> {
  return invalidImage(`one of its layers is zstd that cannot be read: ${why}`, cause);
}

/** Little-endian. Throws if there are fewer than `count` bytes. */
function readNumber(bytes: Uint8Array, count: number): number {
  if (bytes.length < count) throw broken("it ends early");
  return bytes.reduceRight((number, byte) => number * 256 + byte, 0);
}
