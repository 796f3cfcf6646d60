import { Fields, malformed } from "../../../protocol/fields.ts";
import { ENTRY_TYPE } from "../../../protocol/wire.ts";
import type { StateChange, StateEntry } from "../../contract/state-store.ts";
import { parseAttributes } from "./parse-attributes.ts";

/** Flags of a change, and of an entry. */
const UNSEEN = 1;
const UNTOLD = 1;

const TYPES = new Map<number, StateEntry["type"]>([
  [ENTRY_TYPE.FILE, "file"],
  [ENTRY_TYPE.DIRECTORY, "directory"],
  [ENTRY_TYPE.LINK, "link"],
  [ENTRY_TYPE.OTHER, "other"],
]);

/** One answer of `compare`. Its names are a sandbox's own. Throws `GUEST_PROTOCOL`. */
export function parseStateChange(payload: Buffer): StateChange {
  const fields = Fields.parse(payload);
  const path = fields.needBytes("PATH");
  if (path[0] !== SLASH) throw malformed("a path that is not absolute");
  const [before, after] = [fields.bytes("BEFORE"), fields.bytes("AFTER")];
  if (!before && !after) throw malformed("a change of nothing");
  return {
    path,
    ...(before && { before: parseStateEntry(before) }),
    ...(after && { after: parseStateEntry(after) }),
    ...(((fields.number("FLAGS") ?? 0) & UNSEEN) !== 0 && { isUnseen: true }),
  };
}

const SLASH = 0x2f;

export function parseStateEntry(bytes: Buffer): StateEntry {
  const fields = Fields.parse(bytes);
  const type = TYPES.get(fields.needNumber("TYPE"));
  const mtimeNs = fields.bigint("MTIME_NS");
  if (type === undefined || mtimeNs === undefined) throw malformed("an entry without a type or a time");
  const [target, file, attributes] = [fields.bytes("TARGET"), fields.text("FILE"), fields.bytes("ATTRIBUTES")];
  return {
    type,
    mode: fields.needNumber("MODE"),
    uid: fields.needNumber("UID"),
    gid: fields.needNumber("GID"),
    size: fields.needNumber("SIZE"),
    // A time before 1970 is a negative number of 64 bits.
    mtimeNs: BigInt.asIntN(64, mtimeNs),
    ...(target && { target }),
    ...(file !== undefined && { file }),
    ...(attributes && { attributes: parseAttributes(attributes) }),
    ...(((fields.number("FLAGS") ?? 0) & UNTOLD) !== 0 && { hasUntoldAttributes: true }),
  };
}
