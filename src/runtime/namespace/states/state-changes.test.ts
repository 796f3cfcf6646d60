import { expect, it } from "vitest";
import { encodeFields, type Field } from "../../../protocol/fields.ts";
import { parseStateChange } from "./state-changes.ts";

const entry = (more: readonly Field[] = [["MTIME_NS", 7n]]): Buffer =>
  encodeFields([["TYPE", 1], ["MODE", 0o644], ["UID", 0], ["GID", 5], ["SIZE", 3], ...more]); // prettier-ignore

it("a change has a path and what it was and is", () => {
  const change = parseStateChange(encodeFields([["PATH", Buffer.from([0x2f, 0xff])], ["BEFORE", entry()], ["AFTER", entry([["MTIME_NS", 2n ** 64n - 1n]])], ["FLAGS", 1]])); // prettier-ignore
  expect(change).toEqual({
    path: Buffer.from([0x2f, 0xff]),
    before: { type: "file", mode: 0o644, uid: 0, gid: 5, size: 3, mtimeNs: 7n },
    after: { type: "file", mode: 0o644, uid: 0, gid: 5, size: 3, mtimeNs: -1n },
    isUnseen: true,
  });
});

it("an entry has its extended attributes, and which file it is", () => {
  const more: Field[] = [["MTIME_NS", 7n], ["FILE", "1-2"], ["ATTRIBUTES", Buffer.from("user.a\0\0\0\0\x01\0user.b\xff\0\0\0\0\0", "latin1")]]; // prettier-ignore
  const { after } = parseStateChange(encodeFields([["PATH", "/a"], ["AFTER", entry(more)]])); // prettier-ignore
  expect(after?.file).toBe("1-2");
  expect([...(after?.attributes ?? [])]).toEqual([["user.a", Buffer.from([0])], ["user.b\xff", Buffer.alloc(0)]]); // prettier-ignore
  expect(after?.hasUntoldAttributes).toBeUndefined();
  const untold = parseStateChange(encodeFields([["PATH", "/a"], ["AFTER", entry([["MTIME_NS", 7n], ["FLAGS", 1]])]])); // prettier-ignore
  expect(untold.after?.hasUntoldAttributes).toBe(true);
});

it.each([
  ["whose attribute has no end", [["PATH", "/a"], ["AFTER", entry([["MTIME_NS", 1n], ["ATTRIBUTES", "user.a"]])]]],
  ["whose attribute has no length", [["PATH", "/a"], ["AFTER", entry([["MTIME_NS", 1n], ["ATTRIBUTES", Buffer.from("user.a\0\0\0")]])]]],
  ["whose attribute has less than its length", [["PATH", "/a"], ["AFTER", entry([["MTIME_NS", 1n], ["ATTRIBUTES", Buffer.from("user.a\0\0\0\0\x02v")]])]]],
  ["whose attribute has no name", [["PATH", "/a"], ["AFTER", entry([["MTIME_NS", 1n], ["ATTRIBUTES", Buffer.alloc(5)]])]]],
  ["without a side", [["PATH", "/a"]]],
  ["of a relative path", [["PATH", "a"], ["AFTER", entry()]]],
  ["without a path", [["AFTER", entry()]]],
  ["without a time", [["PATH", "/a"], ["AFTER", entry([])]]],
  ["of an unknown kind", [["PATH", "/a"], ["AFTER", encodeFields([["TYPE", 9], ["MTIME_NS", 1n]])]]],
] as const)("a change %s is refused", (_what, fields) => {
  expect(() => parseStateChange(encodeFields(fields))).toThrow(expect.objectContaining({ code: "GUEST_PROTOCOL" }));
}); // prettier-ignore
