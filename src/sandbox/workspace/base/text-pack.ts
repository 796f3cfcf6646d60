import type { FileHandle } from "node:fs/promises";
import { open } from "node:fs/promises";
import * as z from "zod";
import { ifPresent } from "../../../files/file-error.ts";
import { parseJson } from "../../../files/parse-json.ts";
import { replaceFileBy } from "../../../files/replace-file.ts";

const LENGTH_BYTES = 8;
const INDEX_MAX_BYTES = 64 * 1024 * 1024;
const indexSchema = z.record(z.string(), z.tuple([z.number().int().nonnegative(), z.number().int().nonnegative()]));

export interface KeptText {
  readonly key: string;
  readonly text: Buffer;
}

/** Texts by key in one file: the texts, an index, its length. It appears whole or not at all. */
export async function writeTexts(path: string, texts: AsyncIterable<KeptText>): Promise<void> {
  await replaceFileBy(path, async (file) => {
    const index = new Map<string, readonly [number, number]>();
    let end = 0;
    for await (const { key, text } of texts) {
      await file.appendFile(text);
      index.set(key, [end, text.length]);
      end += text.length;
    }
    const bytes = Buffer.from(JSON.stringify(Object.fromEntries(index)));
    const length = Buffer.alloc(LENGTH_BYTES);
    length.writeBigUInt64LE(BigInt(bytes.length));
    await file.appendFile(Buffer.concat([bytes, length]));
  });
}

/** Undefined where it is not kept. */
export async function readText(path: string, key: string): Promise<Buffer | undefined> {
  await using file = await ifPresent(path, open(path));
  if (!file) return undefined;
  const { size } = await file.stat();
  const length = Number((await readAt(file, size - LENGTH_BYTES, LENGTH_BYTES)).readBigUInt64LE());
  if (length > Math.min(size, INDEX_MAX_BYTES)) return undefined;
  const index = indexSchema.safeParse(parseJson((await readAt(file, size - LENGTH_BYTES - length, length)).toString())).data;
  const place = index && Object.hasOwn(index, key) ? index[key] : undefined;
  return place && readAt(file, place[0], place[1]);
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
  return buffer.subarray(0, bytesRead);
}
