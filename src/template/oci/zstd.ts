import { ByteReader } from "./byte-reader.ts";
import { type Block, readBlock, readFrameHeader, skipChecksum } from "./zstd-frames.ts";
import { type ZstdTime, ZstdThread } from "./zstd-thread.ts";

/** So many blocks of a frame are looked at before it begins: a frame that ends within them needs less than the window that it names. */
const AHEAD_MAX = 8;

/**
 * Decompresses frames of zstd block by block, in a thread of its own. Rejects with `IMAGE_INVALID` for a window of more than 32 MiB, for
 * frames that need a dictionary, and for a stream that takes far longer to decode than what it holds.
 */
export async function* decompressZstd(bytes: AsyncIterable<Uint8Array>, time?: ZstdTime): AsyncGenerator<Uint8Array> {
  const reader = new ByteReader(bytes);
  await using thread = new ZstdThread(time);
  try {
    for (let header = await readFrameHeader(reader); header; header = await readFrameHeader(reader)) {
      yield* decodeFrame(reader, header.windowBytes, thread);
      if (header.hasChecksum) await skipChecksum(reader);
    }
  } finally {
    await reader.close();
  }
}

async function* decodeFrame(reader: ByteReader, windowBytes: number, thread: ZstdThread): AsyncGenerator<Uint8Array> {
  const ahead = await readAhead(reader);
  const isWhole = ahead.at(-1)?.isLast === true;
  const mostBytes = ahead.reduce((sum, block) => sum + block.mostBytes, 0);
  const window = isWhole ? Math.min(windowBytes, mostBytes) : windowBytes;
  for (const [index, block] of ahead.entries()) yield await thread.decode(block, index === 0 ? window : undefined);
  for (let isLast = isWhole; !isLast;) {
    const block = await readBlock(reader);
    isLast = block.isLast;
    yield await thread.decode(block);
  }
}

async function readAhead(reader: ByteReader): Promise<readonly Block[]> {
  const blocks: Block[] = [];
  while (blocks.length < AHEAD_MAX && blocks.at(-1)?.isLast !== true) blocks.push(await readBlock(reader));
  return blocks;
}
