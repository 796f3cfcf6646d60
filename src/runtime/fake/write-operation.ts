import { randomBytes } from "node:crypto";
import { constants, type BigIntStats } from "node:fs";
import { type FileHandle, link, mkdir, open, realpath, rename, stat, unlink } from "node:fs/promises";
import { FLAG, FRAME } from "../../protocol/wire.ts";
import type { FileRequest } from "./file-operations.ts";
import type { Peer } from "./peer.ts";

const MODE_DEFAULT = 0o644;
const HELD_FRAMES = 4;

/** An atomic write fills a file beside the target; what is cut short leaves nothing. */
export async function serveWrite(request: FileRequest): Promise<void> {
  const { host, flags, peer } = request;
  if (flags & FLAG.PARENTS) await mkdir(host.subarray(0, host.lastIndexOf("/")), { recursive: true });
  const size = flags & FLAG.ATOMIC ? await writeBeside(request) : await writeInPlace(request);
  if (size !== undefined) peer.reply([["SIZE", size]]);
}

async function writeBeside({ host: named, flags, fields, peer }: FileRequest): Promise<number | undefined> {
  const host = await endOfLink(named);
  const earlier = await statIfPresent(host);
  if (earlier?.isDirectory()) throw Object.assign(new Error("It is a directory"), { code: "EISDIR" });
  const beside = Buffer.concat([host.subarray(0, host.lastIndexOf("/") + 1), Buffer.from(`.belljar-${randomBytes(8).toString("hex")}`)]);
  try {
    const mode = fields.number("MODE") ?? (earlier ? Number(earlier.mode & 0o7777n) : MODE_DEFAULT);
    const size = await writeTo(await open(beside, "wx", mode), peer, undefined, mode);
    if (size === undefined) return undefined;
    await (flags & FLAG.EXCLUSIVE ? link(beside, host) : rename(beside, host));
    return size;
  } finally {
    await unlinkIfPresent(beside);
  }
}

/** What a link leads to is replaced, never the link. */
async function endOfLink(host: Buffer): Promise<Buffer> {
  return (await statIfPresent(host)) ? realpath(host, { encoding: "buffer" }) : host;
}

async function statIfPresent(host: Buffer): Promise<BigIntStats | undefined> {
  try {
    return await stat(host, { bigint: true });
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

async function unlinkIfPresent(host: Buffer): Promise<void> {
  try {
    await unlink(host);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
  }
}

async function writeInPlace({ host, flags, fields, peer }: FileRequest): Promise<number | undefined> {
  const offset = fields.number("OFFSET");
  const keeps = flags & (FLAG.KEEP_REST | FLAG.APPEND);
  const mode =
    constants.O_WRONLY |
    constants.O_CREAT |
    (keeps ? 0 : constants.O_TRUNC) |
    (flags & FLAG.APPEND ? constants.O_APPEND : 0) |
    (flags & FLAG.EXCLUSIVE ? constants.O_EXCL : 0);
  const file = await open(host, mode, fields.number("MODE") ?? MODE_DEFAULT);
  return writeTo(file, peer, flags & FLAG.APPEND ? undefined : offset, fields.number("MODE"));
}

/** Closes the file. Undefined when the host went away before the end. */
async function writeTo(handle: FileHandle, peer: Peer, offset: number | undefined, mode: number | undefined): Promise<number | undefined> {
  await using file = handle;
  if (mode !== undefined) await file.chmod(mode);
  let size = 0;
  for await (const payload of readInput(peer)) {
    await file.write(payload, 0, payload.length, offset === undefined ? null : offset + size);
    size += payload.length;
  }
  return peer.isGone ? undefined : size;
}

/** The DATA of a WRITE, until its END or the host's. */
async function* readInput(peer: Peer): AsyncGenerator<Buffer, void, undefined> {
  const held: Buffer[] = [];
  let isEnded = false;
  let wake = (): void => {};
  peer.onGone(() => wake());
  peer.listen((type, _channel, payload) => {
    if (type === FRAME.DATA) held.push(payload);
    if (type === FRAME.END) isEnded = true;
    if (held.length >= HELD_FRAMES) peer.pause();
    wake();
  });
  while (true) {
    for (let payload = held.shift(); payload; payload = held.shift()) yield payload;
    peer.resume();
    if (isEnded || peer.isGone) return;
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
  }
}
