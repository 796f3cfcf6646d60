import { BelljarError } from "../../errors.ts";
import { fromKey, showPath } from "../../sandbox/workspace/entry.ts";
import type { PlacedEntry } from "./place-copies.ts";

const BLOCK = 512;
const NAME_MAX = 100;
/** The most that eleven octal digits say. */
const SIZE_MAX = 8 ** 11 - 1;
const TYPES = { file: "0", directory: "5", link: "2" } as const;
const CHECKSUM_AT = 148;

/** Of a file, the content that its entry says it has. */
export type ReadContent = (entry: PlacedEntry) => AsyncIterable<Uint8Array>;

/** An archive of these entries, in their order. Rejects with `PATH_INVALID` for a file that is not as long as was said. */
export async function* writeTar(entries: Iterable<PlacedEntry>, read: ReadContent): AsyncGenerator<Uint8Array> {
  for (const entry of entries) {
    yield* encodeHead(entry);
    if (entry.type === "file") yield* padded(entry, read(entry));
  }
  yield Buffer.alloc(2 * BLOCK);
}

async function* padded({ key, size }: PlacedEntry, content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let written = 0;
  for await (const chunk of content) {
    written += chunk.length;
    if (written > size) break;
    yield chunk;
  }
  if (written !== size) throw changes(key);
  yield Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK);
}

export function changes(key: string): BelljarError {
  return new BelljarError(
    "PATH_INVALID",
    `The file for ${showPath(fromKey(key))} changes while it is copied: stop what writes it and try again`,
  );
}

function* encodeHead(entry: PlacedEntry): Generator<Uint8Array> {
  const name = fromKey(entry.type === "directory" ? `${entry.key}/` : entry.key);
  const target = entry.target ?? Buffer.alloc(0);
  if (name.length > NAME_MAX) yield* encodeLong("L", name);
  if (target.length > NAME_MAX) yield* encodeLong("K", target);
  yield encodeBlock(entry, name, target, TYPES[entry.type]);
}

/** As GNU tar writes what does not fit. */
function* encodeLong(type: string, text: Buffer): Generator<Uint8Array> {
  const content = Buffer.concat([text, Buffer.alloc(1)]);
  const head = { mode: 0, uid: 0, gid: 0, mtimeNs: 0n, size: content.length };
  yield encodeBlock(head, Buffer.from("././@LongLink"), Buffer.alloc(0), type);
  yield content;
  yield Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK);
}

type Numbers = Pick<PlacedEntry, "mode" | "uid" | "gid" | "mtimeNs" | "size">;

// eslint-disable-next-line max-params -- the fields of a header
function encodeBlock(numbers: Numbers, name: Buffer, target: Buffer, type: string): Buffer {
  const block = Buffer.alloc(BLOCK);
  name.copy(block, 0, 0, NAME_MAX);
  writeNumbers(block, numbers);
  block.write(type, 156, "latin1");
  target.copy(block, 157, 0, NAME_MAX);
  block.write("ustar\x0000", 257, "latin1");
  block.write(" ".repeat(8), CHECKSUM_AT, "latin1"); // as which it counts itself
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, CHECKSUM_AT, "latin1");
  return block;
}

/** In octal digits, with a NUL behind them. */
function writeNumbers(block: Buffer, { mode, uid, gid, mtimeNs, size }: Numbers): void {
  if (size > SIZE_MAX) throw new BelljarError("FILE_TOO_LARGE", `A file that is copied has at most ${SIZE_MAX} bytes`);
  const seconds = Math.max(0, Number(mtimeNs / 1_000_000_000n));
  const fields = [[100, 8, mode], [108, 8, uid], [116, 8, gid], [124, 12, size], [136, 12, seconds]] as const; // prettier-ignore
  for (const [at, length, value] of fields) block.write(value.toString(8).padStart(length - 1, "0"), at, "latin1");
}
