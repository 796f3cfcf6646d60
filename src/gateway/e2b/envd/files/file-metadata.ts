import type { IncomingHttpHeaders } from "node:http";
import { BelljarError } from "../../../../errors.ts";
import type { FileInfo, Guest } from "../../../../runtime/guest/guest.ts";
import type { FileUser } from "./file-user.ts";
import { callAs } from "./file-user.ts";

/** Labels of a file, kept with it as extended attributes. */
export type FileMetadata = Readonly<Record<string, string>>;

/** The names of the attributes begin so. Programs inside see and set them too. */
export const ATTRIBUTE_PREFIX = "user.e2b.";
const HEADER_PREFIX = "x-metadata-";
/** The kernel's bound on a name, without the prefix. */
const KEY_MAX_BYTES = 246;
const TOTAL_MAX_BYTES = 4_096;
const PRINTABLE = /^[\x20-\x7e]*$/;

/** What the request's headers say. Throws `ARGUMENTS_INVALID`. */
export function parseMetadata(headers: IncomingHttpHeaders): FileMetadata {
  const rows = Object.entries(headers).flatMap(([header, value]) =>
    header.startsWith(HEADER_PREFIX) ? [[header.slice(HEADER_PREFIX.length), String(value)] as const] : [],
  );
  let total = 0;
  for (const [key, value] of rows) {
    if (key === "" || key.length > KEY_MAX_BYTES) throw refused(`a key has from 1 to ${KEY_MAX_BYTES} bytes`);
    if (!PRINTABLE.test(value)) throw refused(`the value of '${key}' must be printable ASCII`);
    total += key.length + value.length;
  }
  if (total > TOTAL_MAX_BYTES) throw refused(`all keys and values together have at most ${TOTAL_MAX_BYTES} bytes`);
  return Object.fromEntries(rows);
}

/** What lies in a file's attributes, whoever has set it. */
export function metadataOf({ attributes = new Map() }: Pick<FileInfo, "attributes">): FileMetadata {
  return Object.fromEntries(Array.from(attributes, ([name, value]) => [name.slice(ATTRIBUTE_PREFIX.length), value.toString()]));
}

export interface MetadataTarget {
  readonly guest: Guest;
  readonly user: FileUser;
  /** Absolute. A link is followed. */
  readonly path: string;
  readonly signal: AbortSignal;
}

/** Of a file that was just written, which has none. Rejects with `NOT_SUPPORTED` where the file system keeps none; the file is there all the same. */
export async function writeMetadata({ guest, user, path, signal }: MetadataTarget, metadata: FileMetadata): Promise<void> {
  const rows = Object.entries(metadata);
  if (rows.length === 0) return;
  const call = callAs(user, signal);
  try {
    const { resolved = path } = await guest.files.stat(path, call);
    for (const [key, value] of rows) await guest.files.setXattr(resolved, ATTRIBUTE_PREFIX + key, Buffer.from(value), call);
  } catch (cause) {
    if (!(cause instanceof BelljarError && cause.code === "NOT_SUPPORTED")) throw cause;
    const message = `The file '${path}' is written, but its metadata is not: its file system keeps no extended attributes of users`;
    throw new BelljarError("NOT_SUPPORTED", message, { cause });
  }
}

function refused(why: string): BelljarError {
  return new BelljarError("ARGUMENTS_INVALID", `invalid metadata: ${why}`);
}
