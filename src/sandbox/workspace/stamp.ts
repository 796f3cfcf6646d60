import * as z from "zod";
import type { Entry, HostEntry } from "./entry.ts";
import { fromKey, toKey } from "./entry.ts";

const whole = z.codec(z.string().regex(/^-?[0-9]{1,20}$/), z.bigint(), { decode: (text) => BigInt(text), encode: String });
const linkText = z.codec(z.string(), z.instanceof(Buffer), { decode: fromKey, encode: toKey });

export const entrySchema = z.object({
  type: z.enum(["file", "directory", "link", "other"]),
  size: z.number(),
  mode: z.number(),
  mtimeNs: whole,
  target: linkText.optional(),
});

/** An entry of the host as it was at one moment. */
export const stampSchema = entrySchema.extend({ inode: whole, ctimeNs: whole, uid: z.number(), gid: z.number() });

/** Whether it is the same file with the same content. Its name and its number of links may have changed. */
export function isSameFile(one: HostEntry, other: HostEntry): boolean {
  if (one.type !== other.type || one.inode !== other.inode) return false;
  return one.type === "directory" || (one.size === other.size && one.mtimeNs === other.mtimeNs);
}

/** Whether nothing at all happened to it. A folder's times change with what is put into it: by those it is not told apart. */
export function isUntouched(then: Omit<HostEntry, "uid" | "gid">, now: HostEntry): boolean {
  if (then.type !== now.type || then.inode !== now.inode || then.mode !== now.mode) return false;
  return then.type === "directory" || (then.size === now.size && then.mtimeNs === now.mtimeNs && then.ctimeNs === now.ctimeNs);
}

/** Whether a sandbox has an entry as it began. What keeps size and time counts as unchanged. */
export function isSameEntry(then: Entry | undefined, now: Entry | undefined): boolean {
  if (!then || !now) return then === now;
  if (then.type !== now.type) return false;
  if (then.type === "link") return then.target?.equals(now.target ?? Buffer.alloc(0)) ?? false;
  if (then.mode !== now.mode) return false;
  return then.type === "directory" || (then.size === now.size && then.mtimeNs === now.mtimeNs);
}
