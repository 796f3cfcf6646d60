import type { IncomingHttpHeaders } from "node:http";
import type { FileInfo } from "../../../../runtime/guest/guest.ts";

/** The bytes from `start` to before `end`. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

type Version = Pick<FileInfo, "mtimeNs" | "size" | "inode">;

/** Names what a file holds: another content has another one. */
export function etagOf({ mtimeNs, size, inode }: Version): string {
  return `"${inode.toString(36)}-${mtimeNs.toString(36)}-${size.toString(36)}"`;
}

/** Of the file's last change, as HTTP has dates. */
export function lastModifiedOf({ mtimeNs }: Pick<Version, "mtimeNs">): string {
  return new Date(secondsOf(mtimeNs) * 1_000).toUTCString();
}

/** Whether the client has this content already. */
export function isUnchanged(headers: IncomingHttpHeaders, file: Version): boolean {
  const { "if-none-match": tags, "if-modified-since": since } = headers;
  if (tags !== undefined) return hasTag(tags, etagOf(file));
  const time = since === undefined ? Number.NaN : Date.parse(since);
  return !Number.isNaN(time) && secondsOf(file.mtimeNs) <= Math.floor(time / 1_000);
}

/**
 * What the client asks for of the file. Undefined: all of it. So it is for several ranges at once, for what cannot be read, and where the client's own
 * part is of another content. `none`: there is nothing there.
 */
export function findRange(headers: IncomingHttpHeaders, file: Version): ByteRange | "none" | undefined {
  const { range, "if-range": condition } = headers;
  const [, first = "", last = ""] = /^bytes=\s*(\d{0,15})-(\d{0,15})\s*$/.exec(range ?? "") ?? [];
  if ((first === "" && last === "") || !holds(condition, file)) return undefined;
  const { size } = file;
  if (first === "") return last === "0" || size === 0 ? "none" : { start: Math.max(0, size - Number(last)), end: size };
  const start = Number(first);
  if (last !== "" && Number(last) < start) return undefined;
  return start >= size ? "none" : { start, end: last === "" ? size : Math.min(size, Number(last) + 1) };
}

/** `If-Range`: a tag, or the very time of the last change. */
function holds(condition: string | string[] | undefined, file: Version): boolean {
  if (condition === undefined) return true;
  if (typeof condition !== "string") return false;
  return condition.startsWith('"') ? condition === etagOf(file) : condition === lastModifiedOf(file);
}

function hasTag(tags: string, tag: string): boolean {
  return tags.split(",").some((one) => ["*", tag, `W/${tag}`].includes(one.trim()));
}

function secondsOf(ns: bigint): number {
  return Number(ns / 1_000_000_000n);
}
