import { randomBytes } from "node:crypto";
import { open, unlink } from "node:fs/promises";
import { join } from "node:path";
import { BelljarError } from "../../errors.ts";
import { errnoOf, fileError } from "../../files/file-error.ts";
import { UNFINISHED } from "../../files/replace-file.ts";
import { decompress, detectCompression } from "./decompress.ts";
import { readAtMost } from "./digest.ts";
import { invalidImage } from "./image-error.ts";
import { type ImageFile, openImageFile, readExtent } from "./open-image-file.ts";
import { readTarIndex, type TarIndex } from "./tar-index.ts";

export interface Scratch {
  /** A folder with room for a compressed archive without its compression. The file in it has no name, and goes with the image. */
  readonly scratch: string;
  /** The most that such an archive may have, uncompressed. */
  readonly maxBytes: number;
}

/** An open tar. Disposing it closes the file. */
export interface OpenArchive extends AsyncDisposable {
  readonly name: string;
  readonly index: TarIndex;
  /** Reads a file of the archive. Rejects with `IMAGE_INVALID` if there is none of this name. */
  read(file: string, signal: AbortSignal): AsyncIterable<Uint8Array>;
}

/** Opens a tar, which may be compressed as a whole. The caller disposes it. */
export async function openArchive(path: string, scratch: Scratch, signal: AbortSignal): Promise<OpenArchive> {
  const file = await openPlain(path, scratch, signal);
  try {
    return toArchive(path, file, await readTarIndex(file, signal));
  } catch (error) {
    await file.handle.close();
    throw error;
  }
}

function toArchive(name: string, { handle }: ImageFile, index: TarIndex): OpenArchive {
  return {
    name,
    index,
    async *read(file, signal) {
      const extent = index.find(file);
      if (!extent) throw invalidImage(`its archive lacks ${file}`);
      yield* readExtent(handle, extent, signal);
    },
    [Symbol.asyncDispose]: () => handle.close(),
  };
}

/**
 * A compressed archive has no places that one could read from. It is uncompressed once, into a file of the scratch folder. The caller closes
 * the file.
 */
export async function openPlain(path: string, scratch: Scratch, signal: AbortSignal): Promise<ImageFile> {
  const file = await openImageFile(path);
  let isKept = false;
  try {
    const head = await readAtMost(readExtent(file.handle, { offset: 0, size: Math.min(4, file.size) }, signal), 4, "its head");
    const compression = detectCompression(head);
    isKept = compression === "none";
    if (isKept) return file;
    return await spool(decompress(readExtent(file.handle, { offset: 0, size: file.size }, signal), compression), scratch);
  } finally {
    if (!isKept) await file.handle.close();
  }
}

async function spool(bytes: AsyncIterable<Uint8Array>, { scratch, maxBytes }: Scratch): Promise<ImageFile> {
  const path = join(scratch, `${UNFINISHED}archive-${randomBytes(8).toString("hex")}`); // a sweep removes what a kill leaves
  const handle = await open(path, "wx+", 0o600).catch((cause: unknown) => {
    throw fileError(scratch, cause);
  });
  let size = 0;
  try {
    await unlink(path);
    for await (const chunk of bytes) {
      size += chunk.length;
      if (size > maxBytes)
        throw new BelljarError("IMAGE_TOO_LARGE", `The archive has more than the ${maxBytes} bytes that are left for it, uncompressed`);
      await handle.writeFile(chunk);
    }
    return { handle, size };
  } catch (cause) {
    await handle.close();
    // The reason of an aborted signal stays as it is.
    throw errnoOf(cause) === undefined ? cause : fileError(scratch, cause);
  }
}
