import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { BelljarError } from "../../errors.ts";
import { errnoOf, fileError } from "../../files/file-error.ts";
import { shown } from "./image-error.ts";

const CHUNK_BYTES = 262_144;

export interface ImageFile {
  readonly handle: FileHandle;
  readonly size: number;
}

/** A range of a file's bytes. */
export interface Extent {
  readonly offset: number;
  readonly size: number;
}

/** Opens a file without waiting for one: a pipe or a device in its place is refused. The caller closes it. */
export async function openImageFile(path: string): Promise<ImageFile> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW).catch((cause: unknown) => {
    if (errnoOf(cause) === "ENOENT" || errnoOf(cause) === "ENOTDIR")
      throw new BelljarError("IMAGE_NOT_FOUND", `There is no file ${shown(path)}`, { cause });
    if (errnoOf(cause) === "ELOOP")
      throw new BelljarError("IMAGE_INVALID", `${shown(path)} is a link, which may lead out of the image`, { cause });
    throw fileError(path, cause);
  });
  try {
    const stat = await handle.stat();
    if (!stat.isFile()) throw new BelljarError("IMAGE_INVALID", `${shown(path)} is not a file`);
    return { handle, size: stat.size };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Reads a range of a file. It ends early where the file does. */
export async function* readExtent(handle: FileHandle, { offset, size }: Extent, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < size;) {
    signal.throwIfAborted();
    const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, size - at));
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, offset + at);
    if (bytesRead === 0) return;
    at += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}
