import type { FileHandle } from "node:fs/promises";
import { readAtMost } from "./digest.ts";
import { invalidImage, shown } from "./image-error.ts";
import { type Extent, type ImageFile, readExtent } from "./open-image-file.ts";
import { BLOCK_BYTES, parseTarHeader, type TarHeader } from "./tar-header.ts";

/** An image of 512 layers has some entries for each. */
const ENTRIES_MAX = 20_000;
const NAME_MAX_BYTES = 4_096;
/** Records of an entry: names and times. */
const PAX_MAX_BYTES = 65_536;
const LINKS_MAX = 8;

type Place = Extent | { readonly link: string };

/** Where the files of a tar lie in it. Names are only keys: none is ever a path on the disk. */
export class TarIndex {
  readonly #places: ReadonlyMap<string, Place>;

  constructor(places: ReadonlyMap<string, Place>) {
    this.#places = places;
  }

  /** Follows links within the tar: Docker stored a layer that two images share only once. */
  find(name: string): Extent | undefined {
    let place = this.#places.get(toKey(name));
    for (let links = 0; place && "link" in place && links < LINKS_MAX; links += 1) place = this.#places.get(place.link);
    return place && "link" in place ? undefined : place;
  }
}

/** Reads the headers of a tar alone, and passes over what lies between them. */
export async function readTarIndex(file: ImageFile, signal: AbortSignal): Promise<TarIndex> {
  const places = new Map<string, Place>();
  for await (const { kind, name, link, body } of readTarEntries(file, { max: ENTRIES_MAX, signal })) {
    if (kind === "file") places.set(toKey(name), body);
    if (kind === "link") places.set(toKey(name), { link: toKey(link) });
  }
  return new TarIndex(places);
}

/** An entry of a tar, with what other entries say of it, and where its content lies. */
export interface TarEntry extends TarHeader {
  readonly body: Extent;
}

/** The entries of a tar in its order. Rejects with `IMAGE_INVALID` for a damaged one, and for one of more than `max` entries. */
export async function* readTarEntries(
  file: ImageFile,
  { max, signal }: { readonly max: number; readonly signal: AbortSignal },
): AsyncGenerator<TarEntry> {
  let pending: Partial<TarHeader> = {};
  let entries = 0;
  for (let at = 0; at + BLOCK_BYTES <= file.size;) {
    signal.throwIfAborted();
    const header = parseTarHeader(await readBlock(file.handle, at));
    if (!header) break;
    entries += 1;
    if (entries > max) throw invalidImage(`its archive has more than ${max} entries`);
    const full = isExtra(header) ? header : { ...header, ...pending };
    const body = { offset: at + BLOCK_BYTES, size: full.size };
    if (body.offset + body.size > file.size) throw invalidImage(`its archive ends within "${shown(full.name)}"`);
    pending = isExtra(header) ? { ...pending, ...(await readExtra(file.handle, { header, body }, signal)) } : {};
    if (!isExtra(full)) yield { ...full, body };
    at = body.offset + Math.ceil(body.size / BLOCK_BYTES) * BLOCK_BYTES;
  }
}

async function readBlock(handle: FileHandle, at: number): Promise<Buffer> {
  const block = Buffer.alloc(BLOCK_BYTES);
  await handle.read(block, 0, BLOCK_BYTES, at);
  return block;
}

function isExtra({ kind }: TarHeader): boolean {
  return kind === "pax" || kind === "long-name" || kind === "long-link";
}

/** Reads what an entry says of the next one. */
async function readExtra(
  handle: FileHandle,
  { header, body }: { readonly header: TarHeader; readonly body: Extent },
  signal: AbortSignal,
): Promise<Partial<TarHeader>> {
  const most = header.kind === "pax" ? PAX_MAX_BYTES : NAME_MAX_BYTES;
  if (body.size > most) throw invalidImage(`an entry of its archive has a name, or records, of ${body.size} bytes`);
  const bytes = await readAtMost(readExtent(handle, body, signal), most, "an entry's name");
  if (header.kind === "pax") return parsePax(bytes);
  const end = bytes.indexOf(0);
  const text = bytes.subarray(0, end < 0 ? bytes.length : end).toString("utf8");
  return header.kind === "long-name" ? { name: text } : { link: text, target: text };
}

/** Records are `LENGTH KEY=VALUE\n`, where LENGTH counts all of the record. */
function parsePax(bytes: Buffer): Partial<TarHeader> {
  const found: { name?: string; link?: string; target?: string; size?: number } = {};
  for (let at = 0; at < bytes.length;) {
    const [head, length, key] = /^(\d{1,5}) ([^=]{1,256})=/.exec(bytes.subarray(at, at + 300).toString("latin1")) ?? [];
    const end = at + Number(length);
    if (head === undefined || !(end > at + head.length && end <= bytes.length)) throw invalidImage("the records of an entry are damaged");
    const value = bytes.subarray(at + head.length, end - 1).toString("utf8");
    if (key === "path") found.name = value;
    if (key === "linkpath") found.link = found.target = value;
    if (key === "size") found.size = parseSize(value);
    at = end;
  }
  return found;
}

function parseSize(text: string): number {
  const size = Number(text);
  if (!/^\d{1,16}$/.test(text) || !Number.isSafeInteger(size)) throw invalidImage("an entry of its archive has an impossible size");
  return size;
}

/** `./a/../b/` is `b`. What leads out of the tar leads to no entry. */
export function toKey(name: string): string {
  const parts: string[] = [];
  for (const part of name.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return parts.join("/");
}
