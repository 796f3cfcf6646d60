import type { Readable } from "node:stream";
import { BelljarError } from "../../errors.ts";
import type { GuestFiles } from "../../sandbox/sandbox.ts";
import { GrowingBuffer } from "../../text/growing-buffer.ts";
import { assertText, EDIT_MAX_BYTES } from "../../text/text-limits.ts";

/** A regular file. Without `content`, there is no file at that path. */
export interface FileState {
  readonly content: Buffer | undefined;
  readonly mode?: number;
}

/** Rejects with `FILE_TOO_LARGE` for more than `maxBytes`. For a folder or a device it rejects as the guest does. */
export async function readState(files: GuestFiles, path: string, options: { signal: AbortSignal; maxBytes: number }): Promise<FileState> {
  try {
    const { info, content } = await files.open(path, { signal: options.signal, limit: options.maxBytes + 1 });
    const bytes = info.size > options.maxBytes ? undefined : await collect(content, options.maxBytes);
    content.destroy();
    if (!bytes) throw tooLarge(path, options.maxBytes);
    return { content: bytes, mode: info.mode & 0o777 };
  } catch (error) {
    if (error instanceof BelljarError && error.code === "FILE_NOT_FOUND") return { content: undefined };
    throw error;
  }
}

/** Reads a file to edit. Rejects with `FILE_NOT_FOUND` or `FILE_TOO_LARGE`. For a file with NUL bytes it rejects with `FILE_NOT_TEXT`. */
export async function readEditable(files: GuestFiles, path: string, signal: AbortSignal): Promise<FileState & { content: Buffer }> {
  const { content, mode } = await readState(files, path, { signal, maxBytes: EDIT_MAX_BYTES });
  if (!content)
    throw new BelljarError("FILE_NOT_FOUND", `No file "${path}"; make one with write_file, or find its name with list_directory`);
  assertText(path, content);
  return { content, ...(mode !== undefined && { mode }) };
}

async function collect(content: Readable, maxBytes: number): Promise<Buffer | undefined> {
  const collected = new GrowingBuffer();
  for await (const chunk of content as AsyncIterable<Buffer>) {
    collected.push(chunk);
    if (collected.length > maxBytes) return undefined;
  }
  return collected.take();
}

function tooLarge(path: string, maxBytes: number): BelljarError {
  const message = `"${path}" is larger than ${maxBytes} bytes; change it with a program such as sed -i, by run_command`;
  return new BelljarError("FILE_TOO_LARGE", message);
}
