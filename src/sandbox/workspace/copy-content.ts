import type { FileHandle } from "node:fs/promises";
import type { Readable } from "node:stream";
import { BelljarError } from "../../errors.ts";

const ZEROES = Buffer.alloc(65_536);

/**
 * Writes a guest's bytes to a new file, at most `limit`: a guest that goes on sending fills no disk, and gets `FILE_TOO_LARGE`.
 * Runs of zeroes become holes, so that a sparse file stays one.
 */
export async function copyContent(content: Readable, file: FileHandle, limit: number, onBytes?: (count: number) => void): Promise<number> {
  let size = 0;
  for await (const chunk of content as AsyncIterable<Buffer>) {
    if (size + chunk.length > limit)
      throw new BelljarError("FILE_TOO_LARGE", `The sandbox sends more than the ${limit} bytes that it announced`);
    if (!isZero(chunk)) await writeAll(file, chunk, size);
    size += chunk.length;
    onBytes?.(chunk.length);
  }
  await file.truncate(size);
  return size;
}

async function writeAll(file: FileHandle, chunk: Buffer, position: number): Promise<void> {
  for (let done = 0; done < chunk.length;) {
    const { bytesWritten } = await file.write(chunk, done, chunk.length - done, position + done);
    done += bytesWritten;
  }
}

function isZero(chunk: Buffer): boolean {
  return chunk.length <= ZEROES.length && chunk.equals(ZEROES.subarray(0, chunk.length));
}
