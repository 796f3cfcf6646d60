import { Readable } from "node:stream";
import { BelljarError } from "../../../../errors.ts";
import type { FileCall, GuestFiles } from "../../../../runtime/guest/guest.ts";
import { wordFileErrors } from "./file-errors.ts";

export interface Composition {
  /** Absolute. */
  readonly sources: readonly string[];
  readonly destination: string;
}

/**
 * Writes the sources one behind the other into the destination, whole or not at all, and then removes them. A few pieces of them lie in memory. Rejects with
 * `FILE_NOT_FOUND`, and with `ARGUMENTS_INVALID` for a source that is no file or is the destination.
 */
export async function composeFiles(files: GuestFiles, { sources, destination }: Composition, call: FileCall): Promise<void> {
  for (const source of sources) {
    if (source === destination) throw new BelljarError("ARGUMENTS_INVALID", `source path '${source}' cannot be the same as destination`);
    const { type } = await wordFileErrors(source, () => files.stat(source, { ...call, follow: true }));
    if (type !== "file") throw new BelljarError("ARGUMENTS_INVALID", `source path is not a regular file: ${source}`);
  }
  await wordFileErrors(destination, () => files.write(destination, Readable.from(contents(files, sources, call)), call));
  for (const source of new Set(sources)) await wordFileErrors(source, () => files.remove(source, call));
}

async function* contents(files: GuestFiles, sources: readonly string[], call: FileCall): AsyncGenerator<Buffer> {
  for (const source of sources) {
    const { content } = await files.open(source, call);
    for await (const chunk of content) yield chunk as Buffer;
  }
}
