import { setImmediate as nextTurn } from "node:timers/promises";
import { Decompress } from "fzstd";
import { ByteReader } from "./byte-reader.ts";
import { type Block, broken, readBlock, readFrameHeader, skipChecksum, writeFrameHeader } from "./zstd-frames.ts";

/** So many blocks of a frame are looked at before it begins: a frame that ends within them needs less than the window that it names. */
const AHEAD_MAX = 8;
/** The decoder moves its window for each block. Bounds how much it moves for bytes that are few. */
const MOVED_FREE_BYTES = 2 * 1024 ** 3;
const MOVED_PER_BYTE = 1_024;

/**
 * Decompresses frames of zstd block by block, with a turn for other work after each: a block takes 3 to 7 ms. Rejects with `IMAGE_INVALID` for a window of more than 32 MiB, for
 * frames that need a dictionary, and for blocks so small that decoding them costs far more than they hold.
 */
export async function* decompressZstd(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = new ByteReader(bytes);
  const work = new Work();
  try {
    for (let header = await readFrameHeader(reader); header; header = await readFrameHeader(reader)) {
      yield* decodeFrame(reader, header.windowBytes, work);
      if (header.hasChecksum) await skipChecksum(reader);
    }
  } finally {
    await reader.close();
  }
}

async function* decodeFrame(reader: ByteReader, windowBytes: number, work: Work): AsyncGenerator<Uint8Array> {
  const ahead = await readAhead(reader);
  const isWhole = ahead.at(-1)?.isLast === true;
  const mostBytes = ahead.reduce((sum, block) => sum + block.mostBytes, 0);
  const window = isWhole ? Math.min(windowBytes, mostBytes) : windowBytes;
  const decoder = new FrameDecoder(window);
  const turn = (block: Block): Promise<Uint8Array> => work.decode(decoder, block, window);
  for (const block of ahead) yield await turn(block);
  for (let isLast = isWhole; !isLast;) {
    const block = await readBlock(reader);
    isLast = block.isLast;
    yield await turn(block);
  }
}

async function readAhead(reader: ByteReader): Promise<readonly Block[]> {
  const blocks: Block[] = [];
  while (blocks.length < AHEAD_MAX && blocks.at(-1)?.isLast !== true) blocks.push(await readBlock(reader));
  return blocks;
}

/** Counts what all frames cost. */
class Work {
  #movedBytes = 0;
  #yieldedBytes = 0;

  async decode(decoder: FrameDecoder, block: Block, windowBytes: number): Promise<Uint8Array> {
    this.#movedBytes += windowBytes;
    if (this.#movedBytes > MOVED_FREE_BYTES + this.#yieldedBytes * MOVED_PER_BYTE)
      throw broken("its blocks are too small for their window");
    const bytes = decoder.decode(block);
    this.#yieldedBytes += bytes.length;
    await nextTurn();
    return bytes;
  }
}

class FrameDecoder {
  readonly #decoder: Decompress;
  #header: Uint8Array | undefined;
  #out: Uint8Array[] = [];

  constructor(windowBytes: number) {
    this.#header = writeFrameHeader(windowBytes);
    this.#decoder = new Decompress((bytes) => this.#out.push(bytes));
  }

  decode({ bytes, isLast }: Block): Uint8Array {
    try {
      this.#decoder.push(this.#header ? Buffer.concat([this.#header, bytes]) : bytes, isLast);
    } catch (cause) {
      throw broken("one of its blocks is invalid", cause);
    }
    this.#header = undefined;
    const out = this.#out;
    this.#out = [];
    return out.length === 1 && out[0] ? out[0] : Buffer.concat(out);
  }
}
