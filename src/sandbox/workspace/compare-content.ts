import { createHash } from "node:crypto";
import type { Readable } from "node:stream";
import type { Sandbox } from "../sandbox.ts";
import { fromKey } from "./entry.ts";
import type { HostFolder } from "./host-folder.ts";

/** Where a workspace's entry lies inside. */
export function insidePath({ inside }: Pick<Sandbox, "inside">, key: string): Buffer {
  return Buffer.concat([Buffer.from(`${inside.workspace}/`), fromKey(key)]);
}

/** SHA-256 of at most `limit` bytes, in constant memory. */
export async function hashGuestFile(
  sandbox: Sandbox,
  key: string,
  { limit, signal }: { readonly limit: number; readonly signal: AbortSignal },
): Promise<string> {
  const { content } = await sandbox.guest.files.open(insidePath(sandbox, key), { limit, signal });
  return hash(content, limit);
}

export async function hashHostFile(
  folder: HostFolder,
  key: string,
  { limit, signal }: { readonly limit: number; readonly signal: AbortSignal },
): Promise<string> {
  const file = await folder.openFile(fromKey(key));
  return hash(file.createReadStream({ signal }), limit);
}

/** A guest that sends more than it was asked for is not read on for ever. */
async function hash(content: Readable, limit: number): Promise<string> {
  const sum = createHash("sha256");
  let left = limit;
  for await (const chunk of content as AsyncIterable<Buffer>) {
    sum.update(chunk.subarray(0, left));
    left -= chunk.length;
    if (left <= 0) break;
  }
  return sum.digest("hex");
}

export function hashOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
