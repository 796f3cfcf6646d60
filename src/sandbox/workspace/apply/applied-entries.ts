import { readFile } from "node:fs/promises";
import * as z from "zod";
import { ifPresent } from "../../../files/file-error.ts";
import { parseJson } from "../../../files/parse-json.ts";
import { replacePrivateFile } from "../../../files/private-files.ts";
import type { Entry, HostEntry } from "../entry.ts";
import { entrySchema, stampSchema } from "../stamp.ts";

/** The texts of one sandbox together: the latest are kept. */
const TEXTS_MAX_BYTES = 16 * 1024 * 1024;

/** What both sides had when an entry was last applied: from there on their changes count. */
export interface AppliedEntry {
  readonly key: string;
  /** The sandbox's; absent: it had none. */
  readonly guest?: Entry | undefined;
  /** The host's; absent: it had none. */
  readonly host?: HostEntry | undefined;
  /** Of the sandbox's file. */
  readonly text?: Buffer | undefined;
  /** The host has more than the sandbox: what the sandbox changes next is merged. */
  readonly isDiverged?: boolean | undefined;
}

const bytes = z.codec(z.string(), z.instanceof(Buffer), {
  decode: (text) => Buffer.from(text, "base64"),
  encode: (buffer) => buffer.toString("base64"),
});
const schema = z.object({
  version: z.literal(1),
  entries: z.array(
    z.object({
      key: z.string(),
      guest: entrySchema.optional(),
      host: stampSchema.optional(),
      text: bytes.optional(),
      isDiverged: z.boolean().optional(),
    }),
  ),
});

/** A damaged file counts as none: then nothing proves what was applied, and it is a conflict. */
export async function readApplied(path: string): Promise<ReadonlyMap<string, AppliedEntry>> {
  const text = await ifPresent(path, readFile(path, "utf8"));
  const entries = text === undefined ? [] : (schema.safeParse(parseJson(text)).data?.entries ?? []);
  return new Map(entries.map((entry) => [entry.key, entry]));
}

export async function writeApplied(path: string, entries: readonly AppliedEntry[]): Promise<void> {
  let left = TEXTS_MAX_BYTES;
  const kept = entries.toReversed().map(({ text, ...entry }) => {
    const fits = text !== undefined && text.length <= left;
    if (fits) left -= text.length;
    return fits ? { ...entry, text } : entry;
  });
  await replacePrivateFile(path, JSON.stringify(z.encode(schema, { version: 1, entries: kept.toReversed() })));
}
