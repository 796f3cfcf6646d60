import { expect, it } from "vitest";
import { LIST_LEVELS_MAX } from "../../protocol/wire.ts";
import type { FileInfo, Guest, Sandbox } from "../sandbox.ts";
import { GuestTree, type GuestTreeOptions, readGuestTree } from "./guest-tree.ts";

const { signal } = new AbortController();
const entry = (path: string | Buffer, type: FileInfo["type"] = "file") => ({ rawPath: Buffer.from(path), type }) as FileInfo;
const withCode = (code: string) => expect.objectContaining({ code }) as Error;

/** A sandbox whose guest lists these, and what it was asked for. */
function sandboxOf(...lists: readonly (readonly FileInfo[])[]) {
  const asked: unknown[] = [];
  let next = 0;
  const list = async function* (path: unknown, options: object) {
    asked.push({ path, ...options });
    yield* lists[next++] ?? [];
  };
  const guest = { files: { list } as unknown as Guest["files"] } as Partial<Guest> as Guest;
  return { sandbox: { guest } as Partial<Sandbox> as Sandbox, asked };
}

const read = (entries: readonly FileInfo[], options: Partial<GuestTreeOptions> = {}) =>
  readGuestTree(sandboxOf(entries).sandbox, "/w", { signal, maxEntries: 100, ...options });

it("asks for all that lies below, as the user", async () => {
  const { sandbox, asked } = sandboxOf([], []);
  await new GuestTree(sandbox, { signal, maxEntries: 1 }).add("/w", "", ["node_modules"]);
  await readGuestTree(sandbox, "/w", { signal, user: "root", maxEntries: 1 });
  expect(asked).toEqual([
    { path: "/w", signal, depth: LIST_LEVELS_MAX, closed: ["node_modules"] },
    { path: "/w", signal, depth: LIST_LEVELS_MAX, closed: [], user: "root" },
  ]);
});

it("adds a folder's entries below its key", async () => {
  const { sandbox } = sandboxOf([entry("a", "directory"), entry("b")], [entry("c", "directory"), entry("c/d")]);
  const tree = new GuestTree(sandbox, { signal, maxEntries: 100 });
  expect([...(await tree.add("/w", "")).keys()]).toEqual(["a", "b"]);
  const added = await tree.add("/w/a", "a");
  expect([...added].map(([key, { rawPath }]) => [key, rawPath.toString()])).toEqual([
    ["a/c", "a/c"],
    ["a/c/d", "a/c/d"],
  ]);
  expect([...tree.entries.keys()]).toEqual(["a", "b", "a/c", "a/c/d"]);
});

it.each<readonly [string, readonly FileInfo[]]>([
  ["a path that leaves the folder", [entry("../a")]],
  ["an absolute path", [entry("/etc/passwd")]],
  ["a path with a dot in it", [entry("a", "directory"), entry("a/./b")]],
  ["an empty path", [entry("")]],
  ["a path twice", [entry("a"), entry("a")]],
  ["a path below a file", [entry("a"), entry("a/b")]],
  ["a path below a link", [entry("a", "link"), entry("a/b")]],
  ["a path below nothing", [entry("a/b")]],
])("refuses %s", async (_, entries) => {
  await expect(read(entries)).rejects.toThrow(withCode("PATH_INVALID"));
});

it("takes a folder that is named after what lies in it", async () => {
  expect((await read([entry("a/b"), entry("a", "directory")])).size).toBe(2);
});

it("takes as many entries as are wanted, and refuses one more, of all parts together", async () => {
  expect((await read([entry("a"), entry("b")], { maxEntries: 2 })).size).toBe(2);
  await expect(read([entry("a"), entry("b"), entry("c")], { maxEntries: 2 })).rejects.toThrow(withCode("FILE_TOO_LARGE"));
  const tree = new GuestTree(sandboxOf([entry("a", "directory")], [entry("b"), entry("c")]).sandbox, { signal, maxEntries: 2 });
  await tree.add("/w", "");
  await expect(tree.add("/w/a", "a")).rejects.toThrow(withCode("FILE_TOO_LARGE"));
});

it("takes 64 MiB of paths, and refuses one byte more", async () => {
  const names = function* (bytes: number): Generator<FileInfo> {
    for (let index = 0, left = bytes; left > 0; index += 1) {
      const path = String(index).padStart(6, "0").padEnd(Math.min(2_000, left), "x");
      left -= path.length;
      yield entry(path);
    }
  };
  const most = 64 * 1024 * 1024;
  expect((await read([...names(most)], { maxEntries: 100_000 })).size).toBe(Math.ceil(most / 2_000));
  await expect(read([...names(most + 1)], { maxEntries: 100_000 })).rejects.toThrow(withCode("FILE_TOO_LARGE"));
});

it("leaves out what lies in a folder that is too deep, and counts it", async () => {
  const deep = (levels: number): FileInfo[] =>
    Array.from({ length: levels }, (_, index) => entry(Array.from({ length: index + 1 }, () => "d").join("/"), "directory"));
  const folders = deep(LIST_LEVELS_MAX + 2);
  const whole = deep(LIST_LEVELS_MAX).map(({ rawPath }) => rawPath.toString());
  expect([...(await read(folders, { maxEntries: 300 })).keys()]).toEqual(whole);
  const below = Array.from({ length: 100 }, (_, index) => entry(`${whole.at(-1)}/${index}`));
  await expect(read([...folders, ...below], { maxEntries: 300 })).rejects.toThrow(withCode("FILE_TOO_LARGE"));
});
