import { expect, it } from "vitest";
import type { FileInfo } from "../../../../runtime/guest/guest.ts";
import { toEntryInfo, toGoMode } from "./entry-info.ts";

const file: FileInfo = {
  path: "a",
  rawPath: Buffer.from("a"),
  type: "file",
  size: 2 ** 40,
  mode: 0o644,
  uid: 1000,
  gid: 1000,
  owner: "user",
  group: "user",
  mtimeNs: 1_767_225_600_123_456_789n,
  inode: 1n,
  links: 1,
};

it.each([
  ["file", 0o644, "-rw-r--r--"],
  ["file", 0o4755, "urwxr-xr-x"],
  ["file", 0o7000, "ugt---------"],
  ["directory", 0o755, "drwxr-xr-x"],
  ["directory", 0o1777, "dtrwxrwxrwx"],
  ["link", 0o777, "Lrwxrwxrwx"],
  ["other", 0o600, "?rw-------"],
] as const)("writes a %s with the mode %i as Go does", (type, mode, text) => {
  expect(toGoMode({ type, mode })).toBe(text);
});

it("tells a file as protobuf's JSON has it", () => {
  const attributes = new Map([["user.e2b.a key", Buffer.from("ü")]]);
  expect(toEntryInfo({ ...file, attributes }, "/home/user/a")).toEqual({
    name: "a",
    type: "FILE_TYPE_FILE",
    path: "/home/user/a",
    size: "1099511627776",
    mode: 0o644,
    permissions: "-rw-r--r--",
    owner: "user",
    group: "user",
    modifiedTime: "2026-01-01T00:00:00.123456789Z",
    metadata: { "a key": "ü" },
  });
  expect(toEntryInfo({ ...file, mode: 0o4755 }, "/home/user/a/")).toMatchObject({ name: "a", mode: 0o755 });
  expect(toEntryInfo({ ...file, type: "directory" }, "/")).toMatchObject({ name: "/", type: "FILE_TYPE_DIRECTORY" });
  expect(toEntryInfo({ ...file, mtimeNs: 2n ** 64n - 1n }, "/a").modifiedTime).toMatch(/^2554-/);
});

it("tells a link by what it leads to, and one that leads nowhere as itself", () => {
  const link = { ...file, type: "link", mode: 0o777, target: "x" } as const;
  const whole = toEntryInfo({ ...link, resolved: "/x", resolvedType: "directory", resolvedMode: 0o1750 }, "/l");
  expect(whole).toMatchObject({ type: "FILE_TYPE_DIRECTORY", mode: 0o750, permissions: "Lrwxrwxrwx", symlinkTarget: "/x" });
  expect(toEntryInfo(link, "/l")).toMatchObject({ type: "FILE_TYPE_UNSPECIFIED", mode: 0, symlinkTarget: "/l" });
});
