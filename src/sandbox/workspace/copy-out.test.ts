import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterEach, beforeEach, expect, it } from "vitest";
import { BelljarError } from "../../errors.ts";
import type { FileInfo, Guest, Sandbox } from "../sandbox.ts";
import { copyOut } from "./copy-out.ts";

const { signal } = new AbortController();
const LEAST = 16 * 1024 * 1024;
const TIME_NS = 1_700_000_000_000_000_000n;

let root: string;
beforeEach(() => (root = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), "bj-out-")))));
afterEach(() => fs.rmSync(root, { recursive: true }));

const info = (path: string, more: Partial<FileInfo> = {}) =>
  ({ path, rawPath: Buffer.from(path), type: "file", size: 0, mode: 0o644, mtimeNs: TIME_NS, ...more }) as FileInfo;
const folder = (path: string, mode = 0o755) => info(path, { type: "directory", mode });

/** A sandbox with one file or folder `named`, and what lies below it. Contents are by path; a number is so many zeroes. */
function sandboxWith(named: FileInfo, below: readonly FileInfo[] = [], contents: Readonly<Record<string, string | number>> = {}) {
  const users = new Set<string | undefined>();
  const files = {
    stat: async (path: string, options: { readonly user?: string }) => {
      users.add(options.user);
      if (path !== named.path) throw new BelljarError("FILE_NOT_FOUND", path);
      return named;
    },
    list: async function* () {
      yield* below;
    },
    open: async (path: string | Buffer, options: { readonly user?: string }) => {
      users.add(options.user);
      const content = contents[String(path)] ?? "";
      return { info: named, content: Readable.from([typeof content === "number" ? Buffer.alloc(content) : Buffer.from(content)]) };
    },
  };
  const guest = { files: files as unknown as Guest["files"] } as Partial<Guest> as Guest;
  return { sandbox: { guest } as Partial<Sandbox> as Sandbox, users };
}

const names = (path = root) => fs.readdirSync(path).toSorted();
const at = (path: string) => join(root, path);

it("writes a file with its mode and time, under the name or into the folder", async () => {
  fs.mkdirSync(at("into"));
  const { sandbox, users } = sandboxWith(info("d/a", { mode: 0o6750 }), [], { "d/a": "text" });
  const counts: number[] = [];
  expect(await copyOut(sandbox, { from: "d/a", to: at("b"), signal, user: "root", onBytes: (count) => counts.push(count) })).toEqual({
    to: at("b"),
    files: 1,
    skipped: [],
  });
  expect((await copyOut(sandbox, { from: "d/a", to: at("into"), signal, user: "root" })).to).toBe(at("into/a"));
  expect([names(), names(at("into")), counts, [...users]]).toEqual([["b", "into"], ["a"], [4], ["root"]]);
  const { mode, mtimeMs } = fs.statSync(at("b"));
  expect([fs.readFileSync(at("b"), "utf8"), mode & 0o7777, mtimeMs]).toEqual(["text", 0o750, Number(TIME_NS / 1_000_000n)]);
});

it("writes a folder with links as links, and modes that would keep it out at last", async () => {
  const rows = [
    folder("d", 0o500),
    info("d/a", { size: 3 }),
    info("link", { type: "link", target: "/etc" }),
    info("pipe", { type: "other" }),
  ];
  const { sandbox } = sandboxWith(folder("w"), rows, { "w/d/a": "one" });
  expect(await copyOut(sandbox, { from: "w", to: at("to"), signal })).toEqual({ to: at("to"), files: 1, skipped: ["pipe"] });
  expect([names(at("to")), fs.readlinkSync(at("to/link")), fs.readFileSync(at("to/d/a"), "utf8")]).toEqual([["d", "link"], "/etc", "one"]);
  expect(fs.statSync(at("to/d")).mode & 0o777).toBe(0o500);
  fs.chmodSync(at("to/d"), 0o700);
});

it("writes into a folder that is there, and replaces files and links in it", async () => {
  fs.mkdirSync(at("to/w/d"), { recursive: true });
  fs.writeFileSync(at("victim"), "old");
  fs.symlinkSync("../../victim", at("to/w/a"));
  const { sandbox } = sandboxWith(folder("w"), [folder("d"), info("a", { size: 3 }), info("d/b", { size: 3 })], {
    "w/a": "new",
    "w/d/b": "two",
  });
  for (let times = 0; times < 2; times += 1) expect((await copyOut(sandbox, { from: "w", to: at("to"), signal })).to).toBe(at("to/w"));
  expect([fs.readFileSync(at("victim"), "utf8"), fs.readFileSync(at("to/w/a"), "utf8"), names(at("to/w"))]).toEqual([
    "old",
    "new",
    ["a", "d"],
  ]);
});

it("takes of a file as much as it announces, and at least 16 MiB", async () => {
  const copy = (size: number, sent: number) =>
    copyOut(sandboxWith(info("a", { size }), [], { a: sent }).sandbox, { from: "a", to: at("a"), signal });
  for (const [size, sent] of [
    [0, LEAST],
    [LEAST + 1, LEAST + 1],
  ] as const) {
    await copy(size, sent);
    expect(fs.statSync(at("a")).size).toBe(sent);
  }
  for (const [size, sent] of [
    [0, LEAST + 1],
    [LEAST + 1, LEAST + 2],
  ] as const)
    await expect(copy(size, sent)).rejects.toMatchObject({ code: "FILE_TOO_LARGE" });
  expect(names()).toEqual(["a"]);
});

it("refuses what is no file and no folder, is not there, or has no place to go", async () => {
  const codeOf = (named: FileInfo, from: string, to: string) =>
    copyOut(sandboxWith(named).sandbox, { from, to: at(to), signal }).catch((cause: BelljarError) => cause.code);
  fs.writeFileSync(at("file"), "");
  expect([
    await codeOf(info("a", { type: "other" }), "a", "b"),
    await codeOf(info("a"), "gone", "b"),
    await codeOf(info("a"), "a", "none/b"),
    await codeOf(info("a"), "a", "file/b"),
    await codeOf(folder("w"), "w", "none/b"),
  ]).toEqual(["NOT_SUPPORTED", "FILE_NOT_FOUND", "FILE_NOT_FOUND", "FILE_IO", "FILE_IO"]);
});
