import type { TextResult } from "../../catalog/tool.ts";
import { textResult } from "../../catalog/tool-result.ts";
import { BelljarError } from "../../errors.ts";
import type { Guest, Sandbox } from "../../sandbox/sandbox.ts";
import { toAbsolute } from "../sandbox-path.ts";

/** As base64 it stays below the 5 MiB that models take. */
const IMAGE_MAX_BYTES = 3_900_000;

export interface ReadImageOptions {
  readonly path: string;
  readonly mimeType: string;
  readonly signal: AbortSignal;
}

/** The whole image as image content. Rejects with `FILE_TOO_LARGE` for one that no model takes. */
export async function readImage({ guest }: Sandbox, { path, mimeType, signal }: ReadImageOptions): Promise<TextResult> {
  const bytes = await readBounded(guest, path, signal);
  const absolute = toAbsolute(path);
  const facts = {
    path: absolute,
    content: "",
    encoding: "base64",
    size: bytes.length,
    start_line: null,
    end_line: null,
    truncated: false,
    mime_type: mimeType,
  };
  return textResult(facts, [
    { type: "text", text: `${absolute}: ${mimeType}, ${bytes.length} bytes` },
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
