import type { TextResult } from "../../catalog/tool.ts";
import { textResult } from "../../catalog/tool-result.ts";
import { BelljarError } from "../../errors.ts";
import type { Guest, Sandbox } from "../../sandbox/sandbox.ts";
import { toAbsolute } from "../sandbox-path.ts";

/** As base64 it stays below the 5 MiB that models take. */
export const IMAGE_MAX_BYTES = 3_900_000;

export interface ReadImageOptions {
  readonly path: string;
  readonly mimeType: string;
  readonly signal: AbortSignal;
}

/** The whole image as image content. Rejects with `FILE_TOO_LARGE` for one that no model takes. */
export async function readImage(sandbox: Sandbox, { path, mimeType, signal }: ReadImageOptions): Promise<TextResult> {
  const bytes = await readBounded(sandbox.guest, path, signal);
  return imageResult({ path: toAbsolute(sandbox, path), what: mimeType, mimeType, bytes });
}

export interface ReadPicture {
  /** Absolute. */
  readonly path: string;
  /** What it is, in its line of text. */
  readonly what: string;
  readonly mimeType: string;
  readonly bytes: Buffer;
}

/** A picture as `read_file` answers it. */
export function imageResult({ path, what, mimeType, bytes }: ReadPicture): TextResult {
  const facts = {
    path,
    content: "",
    encoding: "base64",
    size: bytes.length,
    start_line: null,
    end_line: null,
    truncated: false,
    mime_type: mimeType,
  };
  return textResult(facts, [
    { type: "text", text: `${path}: ${what}, ${bytes.length} bytes` },
    { type: "image", data: bytes.toString("base64"), mimeType },
  ]);
}

async function readBounded(guest: Guest, path: string, signal: AbortSignal): Promise<Buffer> {
  try {
    return await guest.files.read(path, { signal, maxBytes: IMAGE_MAX_BYTES });
  } catch (error) {
    if (!(error instanceof BelljarError) || error.code !== "FILE_TOO_LARGE") throw error;
    const message = `The image "${path}" is larger than ${IMAGE_MAX_BYTES} bytes; make a smaller one, or read its bytes with encoding base64`;
    throw new BelljarError("FILE_TOO_LARGE", message, { cause: error });
  }
}
