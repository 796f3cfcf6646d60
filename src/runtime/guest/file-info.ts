import { type Fields, malformed } from "../../protocol/fields.ts";
import { ENTRY_TYPE, EVENT_KIND } from "../../protocol/wire.ts";
import type { FileChange, FileInfo, GuestPath } from "./guest.ts";

const TYPES = new Map<number, FileInfo["type"]>([
  [ENTRY_TYPE.FILE, "file"],
  [ENTRY_TYPE.DIRECTORY, "directory"],
  [ENTRY_TYPE.LINK, "link"],
  [ENTRY_TYPE.OTHER, "other"],
]);

const KINDS = new Map<number, FileChange["kind"]>([
  [EVENT_KIND.CREATE, "create"],
  [EVENT_KIND.WRITE, "write"],
  [EVENT_KIND.REMOVE, "remove"],
  [EVENT_KIND.RENAME, "rename"],
  [EVENT_KIND.ATTRIBUTES, "attributes"],
  [EVENT_KIND.OVERFLOW, "overflow"],
]);

/** `asked` is the requested path of a STAT or READ. Each row of a LIST carries its own path. */
export function fileInfo(fields: Fields, asked?: GuestPath): FileInfo {
  const rawPath = asked === undefined ? fields.needBytes("PATH") : Buffer.from(asked as Buffer);
  return {
    path: rawPath.toString(),
    rawPath,
    type: TYPES.get(fields.needNumber("TYPE")) ?? unknownValue("TYPE"),
    size: fields.needNumber("SIZE"),
    mode: fields.needNumber("MODE"),
    uid: fields.needNumber("UID"),
    gid: fields.needNumber("GID"),
    owner: fields.text("OWNER") ?? String(fields.needNumber("UID")),
    group: fields.text("GROUP") ?? String(fields.needNumber("GID")),
    mtimeNs: fields.bigint("MTIME_NS") ?? unknownValue("MTIME_NS"),
    inode: fields.bigint("INODE") ?? unknownValue("INODE"),
    links: fields.needNumber("LINKS"),
    ...linkInfo(fields),
    ...attributesOf(fields.all("ATTRIBUTE")),
  };
}

function linkInfo(fields: Fields): Pick<FileInfo, "target" | "resolved" | "resolvedType" | "resolvedMode"> {
  const target = fields.text("TARGET");
  const resolved = fields.text("RESOLVED");
  return { ...(target !== undefined && { target }), ...(resolved !== undefined && { resolved, ...destination(fields) }) };
}

function destination(fields: Fields): Pick<FileInfo, "resolvedType" | "resolvedMode"> {
  const type = TYPES.get(fields.number("RESOLVED_TYPE") ?? 0);
  const mode = fields.number("RESOLVED_MODE");
  return { ...(type !== undefined && type !== "link" && { resolvedType: type }), ...(mode !== undefined && { resolvedMode: mode }) };
}

function attributesOf(rows: readonly Buffer[]): Pick<FileInfo, "attributes"> {
  return rows.length === 0 ? {} : { attributes: new Map(rows.map(attributeOf)) };
}

function attributeOf(bytes: Buffer): readonly [string, Buffer] {
  const end = bytes.indexOf(0);
  if (end < 0) throw malformed("ATTRIBUTE has no name");
  return [bytes.toString("utf8", 0, end), bytes.subarray(end + 1)];
}

export function fileChange(fields: Fields): FileChange {
  const kind = KINDS.get(fields.needNumber("KIND")) ?? unknownValue("KIND");
  const target = fields.text("TARGET");
  return { kind, path: fields.text("PATH") ?? "", ...(target !== undefined && { target }) };
}

function unknownValue(field: string): never {
  throw malformed(`${field} is missing or unknown`);
}
