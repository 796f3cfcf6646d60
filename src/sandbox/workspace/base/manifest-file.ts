import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { createInterface } from "node:readline";
import * as z from "zod";
import { BelljarError } from "../../../errors.ts";
import { ifPresent } from "../../../files/file-error.ts";
import { parseJson } from "../../../files/parse-json.ts";
import { replaceFileBy } from "../../../files/replace-file.ts";
import { fromKey, toKey } from "../entry.ts";
import type { BaseEntry } from "./base-entry.ts";

const LINES_AT_ONCE = 1000;
const number = z.string().regex(/^-?[0-9]{1,20}$/);
const row = z.tuple([
  z.string(),
  z.enum(["file", "directory", "link", "other"]),
  z.number(),
  z.number(),
  number,
  number,
  number,
  z.string().nullable(),
  z.string().nullable(),
]);
const lastLine = z.object({ version: z.literal(1), entries: z.number() });

/** Writes the list of a folder: a line an entry, the number of entries in the last one. It appears whole or not at all. */
export async function writeManifest(path: string, entries: Iterable<BaseEntry>): Promise<void> {
  await replaceFileBy(path, async (file) => {
    let lines: string[] = [];
    let count = 0;
    for (const entry of entries) {
      count += 1;
      if (lines.push(toLine(entry)) < LINES_AT_ONCE) continue;
      await file.appendFile(lines.join(""));
      lines = [];
    }
    await file.appendFile(`${lines.join("")}${JSON.stringify({ version: 1, entries: count })}\n`);
  });
}

function toLine({ key, type, mode, size, mtimeNs, ctimeNs, inode, target, blob }: BaseEntry): string {
  const numbers = [mtimeNs, ctimeNs, inode].map(String);
  return `${JSON.stringify([key, type, mode, size, ...numbers, target ? toKey(target) : null, blob ?? null])}\n`;
}

/** The entries with these keys. Undefined when there is no list. Throws `FILE_IO` for a damaged one. */
export async function readManifest(path: string, keys: ReadonlySet<string>): Promise<readonly BaseEntry[] | undefined> {
  const file = await ifPresent(path, open(path));
  if (!file) return undefined;
  const found: BaseEntry[] = [];
  const wanted = new Set([...keys].map((key) => JSON.stringify(key)));
  let count = -1;
  let last = "";
  for await (const line of createInterface({ input: createReadStream("", { fd: file }), crlfDelay: Number.POSITIVE_INFINITY })) {
    count += 1;
    const entry = mayBeOf(last, wanted) ? fromLine(last, path) : undefined;
    if (entry && keys.has(entry.key)) found.push(entry);
    last = line;
  }
  if (lastLine.safeParse(parseJson(last)).data?.entries === count) return found;
  throw damaged(path);
}

/** Whether a line may begin with one of these keys. Most lines of a great folder are not worth reading on. */
function mayBeOf(line: string, keys: ReadonlySet<string>): boolean {
  const end = line.indexOf('",');
  // A quote in the key stands behind a backslash.
  return end > 0 && (line[end - 1] === "\\" || keys.has(line.slice(1, end + 1)));
}

function fromLine(line: string, path: string): BaseEntry {
  const parsed = row.safeParse(parseJson(line)).data;
  if (!parsed) throw damaged(path);
  const [key, type, mode, size, mtimeNs, ctimeNs, inode, target, blob] = parsed;
  return {
    key,
    type,
    mode,
    size,
    mtimeNs: BigInt(mtimeNs),
    ctimeNs: BigInt(ctimeNs),
    inode: BigInt(inode),
    ...(target !== null && { target: fromKey(target) }),
    ...(blob !== null && { blob }),
  };
}

function damaged(path: string): BelljarError {
  return new BelljarError("FILE_IO", `The list ${path} of how a workspace began is damaged: remove it, and look at each change yourself`);
}
