import type { ResourceContent } from "../../catalog/tool.ts";
import { BelljarError } from "../../errors.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import type { Range } from "./belljar-uri.ts";

/** What one read answers; longer files are read in parts. */
const PART_BYTES = 262_144;

/** A file of a sandbox, or a part of it: as text where its bytes are UTF-8, else as a blob. */
export async function readFileResource(
  sandbox: Sandbox,
  { uri, path, offset = 0, limit = PART_BYTES }: { readonly uri: string; readonly path: string } & Range,
  signal: AbortSignal,
): Promise<ResourceContent> {
  const { size } = await sandbox.guest.files.stat(path, { signal, follow: true });
  if (size > PART_BYTES && offset === 0 && limit >= PART_BYTES && !uri.includes("?")) {
    throw new BelljarError(
      "FILE_TOO_LARGE",
      `The file has ${size} bytes: read parts of at most ${PART_BYTES} with ?offset=0&limit=${PART_BYTES}`,
    );
  }
  const bytes = await sandbox.guest.files.read(path, { signal, offset, limit, maxBytes: limit });
  const text = decode(bytes);
  return text === undefined
    ? { uri, mimeType: "application/octet-stream", blob: bytes.toString("base64") }
    : { uri, mimeType: "text/plain", text };
}

function decode(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}
