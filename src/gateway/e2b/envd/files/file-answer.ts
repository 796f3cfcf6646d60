import type { IncomingHttpHeaders } from "node:http";
import { posix } from "node:path";
import { finished, Readable } from "node:stream";
import { constants, createGzip } from "node:zlib";
import { BelljarError } from "../../../../errors.ts";
import type { FileInfo, Guest } from "../../../../runtime/guest/guest.ts";
import { chooseEncoding } from "./file-encoding.ts";
import { wordFileErrors } from "./file-errors.ts";
import type { ByteRange } from "./file-range.ts";
import { etagOf, findRange, isUnchanged, lastModifiedOf } from "./file-range.ts";
import type { FileUser } from "./file-user.ts";
import { callAs } from "./file-user.ts";

/** What is answered to whoever asks for a file. */
export interface FileAnswer {
  readonly status: 200 | 206 | 304 | 416;
  readonly headers: Readonly<Record<string, string>>;
  readonly content?: Readable;
}

export interface FileQuestion {
  readonly guest: Guest;
  readonly user: FileUser;
  /** Absolute. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Without its content. */
  readonly isHead: boolean;
  readonly signal: AbortSignal;
  /** A place for packing. Undefined: none is free, and the bytes are sent as they are. */
  readonly takeZip: () => Disposable | undefined;
}

/** Rejects as the guest does, in E2B's words. The content fails where the file ends before what its length promises. */
export async function answerFile(question: FileQuestion): Promise<FileAnswer> {
  const { guest, user, path, signal, isHead } = question;
  const call = callAs(user, signal);
  const file = await wordFileErrors(path, () => guest.files.stat(path, { ...call, follow: true }));
  assertFile(path, file);
  const plan = planAnswer(question, file);
  if (isHead || plan.status === 304 || plan.status === 416)
    return { status: plan.status, headers: plan.headers, ...(isHead && { content: Readable.from([]) }) };
  const { start, end } = plan.range;
  const range = plan.isWhole ? {} : { offset: start, limit: end - start };
  const { content } = await wordFileErrors(path, () => guest.files.open(path, { ...call, ...range }));
  const place = plan.encoding === "gzip" ? question.takeZip() : undefined;
  return place ? toGzip(plan, content, place) : toPlain(plan, content);
}

function assertFile(path: string, { type }: FileInfo): void {
  if (type === "directory") throw new BelljarError("FILE_IS_DIRECTORY", `path '${path}' is a directory`);
  if (type !== "file") throw new BelljarError("ARGUMENTS_INVALID", `path '${path}' is no regular file`);
}

interface Plan extends Pick<FileAnswer, "status" | "headers"> {
  readonly range: ByteRange;
  readonly isWhole: boolean;
  readonly encoding: "gzip" | "identity";
}

function planAnswer({ headers: asked, path }: FileQuestion, file: FileInfo): Plan {
  const isPart = ["range", "if-none-match", "if-modified-since", "if-range"].some((name) => asked[name] !== undefined);
  const accepted = chooseEncoding(asked["accept-encoding"]);
  const encoding = isPart ? "identity" : accepted;
  const whole = { start: 0, end: file.size };
  const headers = { ...INERT, ...headersOf(path, file) };
  if (isUnchanged(asked, file)) return { status: 304, headers, range: whole, isWhole: true, encoding };
  const range = findRange(asked, file);
  const { size } = file;
  if (range === "none")
    return { status: 416, headers: { ...headers, "content-range": `bytes */${size}` }, range: whole, isWhole: true, encoding };
  if (!range) return { status: 200, headers, range: whole, isWhole: true, encoding };
  const { start, end } = range;
  return { status: 206, headers: { ...headers, "content-range": `bytes ${start}-${end - 1}/${size}` }, range, isWhole: false, encoding };
}

/**
 * Files of sandboxes are strangers', and this server's own pages have the same origin on one machine: whatever the bytes are, a browser runs nothing of
 * them.
 */
const INERT = {
  "x-content-type-options": "nosniff",
  "content-security-policy": "default-src 'none'; sandbox",
  "cache-control": "private, no-cache",
} as const;

function headersOf(path: string, file: FileInfo): Readonly<Record<string, string>> {
  return {
    "content-type": TYPES[posix.extname(path).toLowerCase()] ?? "application/octet-stream",
    "content-disposition": dispositionOf(posix.basename(path)),
    vary: "Accept-Encoding",
    "accept-ranges": "bytes",
    etag: etagOf(file),
    "last-modified": lastModifiedOf(file),
  };
}

/** Those that a browser shows and nothing runs in. */
const TYPES: Readonly<Record<string, string>> = {
  ".txt": "text/plain; charset=utf-8",
  ".csv": "text/csv; charset=utf-8",
  ".json": "application/json",
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".gif": "image/gif",
  ".webp": "image/webp",
  ".mp3": "audio/mpeg",
  ".mp4": "video/mp4",
  ".webm": "video/webm",
};

function dispositionOf(name: string): string {
  if (/^[\x20-\x7e]*$/.test(name)) return `inline; filename="${name.replaceAll(/["\\]/g, (letter) => `\\${letter}`)}"`;
  const encoded = encodeURIComponent(Buffer.from(name).toString()).replaceAll(
    /['()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `inline; filename*=UTF-8''${encoded}`;
}

async function toPlain({ status, headers, range: { start, end } }: Plan, content: Readable): Promise<FileAnswer> {
  const length = end - start;
  if (length > 0)
    return { status, headers: { ...headers, "content-length": String(length) }, content: Readable.from(exactly(content, length), BYTES) };
  return toUnsized({ status, headers }, content);
}

/** Files of the kernel, as in /proc, say that they are empty and are not. */
async function toUnsized({ status, headers }: Pick<Plan, "status" | "headers">, content: Readable): Promise<FileAnswer> {
  const chunks = content[Symbol.asyncIterator]() as AsyncIterator<Buffer, undefined>;
  const first = await chunks.next();
  if (first.done) return { status, headers: { ...headers, "content-length": "0" }, content: Readable.from([], BYTES) };
  const rest = { [Symbol.asyncIterator]: () => chunks };
  return { status, headers, content: Readable.from(behind(first.value, rest), BYTES) };
}

/** Not a list of objects. */
const BYTES = { objectMode: false };

async function* behind(first: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* rest;
}

/** A file may grow or shrink while it is read. */
async function* exactly(content: Readable, length: number): AsyncGenerator<Buffer> {
  let left = length;
  for await (const chunk of content as AsyncIterable<Buffer>) {
    yield chunk.length <= left ? chunk : chunk.subarray(0, left);
    left -= chunk.length;
    if (left <= 0) return;
  }
  throw new BelljarError("FILE_IO", "The file became shorter while it was read: read it again");
}

function toGzip({ status, headers }: Plan, content: Readable, place: Disposable): FileAnswer {
  const gzip = createGzip({ level: constants.Z_BEST_SPEED });
  finished(content, (error) => void (error && gzip.destroy(error)));
  gzip.once("close", () => {
    place[Symbol.dispose]();
    content.destroy();
  });
  const { "accept-ranges": _, etag, ...rest } = headers;
  const told = { ...rest, "content-encoding": "gzip", ...(etag !== undefined && { etag: `W/${etag}` }) };
  return { status, headers: told, content: content.pipe(gzip) };
}
