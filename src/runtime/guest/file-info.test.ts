import { expect, it } from "vitest";
import { encodeFields, Fields, type Field } from "../../protocol/fields.ts";
import { ENTRY_TYPE } from "../../protocol/wire.ts";
import { fileInfo } from "./file-info.ts";

const ENTRY: readonly Field[] = [
  ["TYPE", ENTRY_TYPE.LINK],
  ["SIZE", 1],
  ["MODE", 0o777],
  ["UID", 0],
  ["GID", 0],
  ["MTIME_NS", 1n],
  ["INODE", 1n],
  ["LINKS", 1],
  ["TARGET", "x"],
  ["RESOLVED", "/x"],
];

const read = (...more: readonly Field[]) => fileInfo(Fields.parse(encodeFields([...ENTRY, ...more])), "a");

it("reads attributes with any bytes in their values, and what a link leads to", () => {
  const info = read(
    ["ATTRIBUTE", Buffer.from("user.a\0b\0c")],
    ["ATTRIBUTE", Buffer.from("user.b\0")],
    ["RESOLVED_TYPE", ENTRY_TYPE.DIRECTORY],
    ["RESOLVED_MODE", 0o755],
  );
  expect([...(info.attributes ?? [])]).toEqual([
    ["user.a", Buffer.from("b\0c")],
    ["user.b", Buffer.alloc(0)],
  ]);
  expect(info).toMatchObject({ resolved: "/x", resolvedType: "directory", resolvedMode: 0o755 });
  expect(read()).not.toHaveProperty("attributes");
});

it("refuses an attribute without a name's end, and takes no link for the end of one", () => {
  expect(() => read(["ATTRIBUTE", Buffer.from("user.a")])).toThrow(expect.objectContaining({ code: "GUEST_PROTOCOL" }) as Error);
  expect(read(["RESOLVED_TYPE", ENTRY_TYPE.LINK])).not.toHaveProperty("resolvedType");
});
