import { lstatSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { assertRelativePath, fromGuest, fromHost, fromKey, parentKey, showPath, toKey } from "./entry.ts";

it("an entry of the host has its facts, and of its mode the permissions alone", () => {
  const root = mkdtempSync(join(tmpdir(), "belljar-entry-"));
  try {
    writeFileSync(join(root, "file"), "text", { mode: 0o640 });
    mkdirSync(join(root, "folder"));
    symlinkSync("file", join(root, "link"));
    const stats = lstatSync(join(root, "file"), { bigint: true });
    expect(fromHost({ ...stats, mode: stats.mode | 0o6000n, isFile: () => true, isDirectory: () => false } as typeof stats)).toEqual({
      type: "file",
      size: 4,
      mode: 0o640,
      mtimeNs: stats.mtimeNs,
      ctimeNs: stats.ctimeNs,
      inode: stats.ino,
      uid: Number(stats.uid),
      gid: Number(stats.gid),
    });
    const typeOf = (path: string) => fromHost(lstatSync(path, { bigint: true })).type;
    expect(["folder", "link"].map((name) => typeOf(join(root, name)))).toEqual(["directory", "link"]);
    const shared = { ...lstatSync(join(root, "folder"), { bigint: true }), mode: 0o41777n, isFile: () => false, isDirectory: () => true };
    expect(fromHost(shared as typeof stats)).toMatchObject({ mode: 0o777, specialBits: 0o1000 });
    expect(typeOf("/dev/null")).toBe("other");
    expect(fromHost(lstatSync(join(root, "link"), { bigint: true }), Buffer.from("file")).target).toEqual(Buffer.from("file"));
  } finally {
    rmSync(root, { recursive: true });
  }
});

it("an entry of a sandbox is never setuid, and a link has its text", () => {
  const info = { path: "a", rawPath: Buffer.from("a"), type: "link", size: 1, mode: 0o4777, mtimeNs: 5n, uid: 0, gid: 0 } as const;
  expect(fromGuest({ ...info, target: "t" } as never)).toEqual({
    type: "link",
    size: 1,
    mode: 0o777,
    mtimeNs: 5n,
    target: Buffer.from("t"),
  });
  expect(fromGuest(info as never)).not.toHaveProperty("target");
});

it("a key stands for the bytes of a path, whatever they are", () => {
  const bytes = Buffer.from([0xff, 0x2f, 0xc3, 0xa4]);
  expect(fromKey(toKey(bytes))).toEqual(bytes);
  expect(["a/b/c", "a/b", "a", "/a", ""].map(parentKey)).toEqual(["a/b", "a", "", "", ""]);
});

it.each(["a", "a/b", "...", ".a/b.", "a".repeat(4000)])("takes the path %j", (path) => {
  expect(() => assertRelativePath(Buffer.from(path))).not.toThrow();
});

it.each(["", "/", "/a", "a/", "a//b", ".", "..", "a/./b", "a/../b", "../a", "a\0b", "a".repeat(4001)])("refuses the path %j", (path) => {
  expect(() => assertRelativePath(Buffer.from(path))).toThrow(expect.objectContaining({ code: "PATH_INVALID" }));
});

it("shows a path to people without what could steer a terminal", () => {
  expect(showPath(Buffer.from("a b/ä"))).toBe("a b/ä");
  expect(showPath(Buffer.from("a\u001b[2Jb"))).toBe('"a\\u001b[2Jb"');
  expect(showPath(Buffer.from("x".repeat(1001)))).toBe("x".repeat(1000));
});
