import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { HostFolder } from "./host-folder.ts";

let outer: string;
let root: string;
let folder: HostFolder;
beforeEach(() => {
  outer = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), "belljar-folder-")));
  root = join(outer, "root");
  fs.mkdirSync(join(root, "d"), { recursive: true });
  fs.writeFileSync(join(root, "d/f"), "text");
  fs.symlinkSync("d/f", join(root, "link"));
  fs.symlinkSync("d", join(root, "way"));
  folder = new HostFolder(root);
});
afterEach(() => fs.rmSync(outer, { recursive: true }));

const bytes = (path: string) => Buffer.from(path);
const refused = (code: string) => expect.objectContaining({ code }) as Error;
const read = (path: string) => fs.readFileSync(join(root, path), "utf8");
const exists = (path: string) => fs.existsSync(join(root, path));

describe("a look", () => {
  it("follows no link, and finds nothing below one or below a file", async () => {
    expect(await folder.stat(bytes("d/f"))).toMatchObject({ type: "file", size: 4 });
    expect(await folder.stat(bytes("link"))).toMatchObject({ type: "link", target: bytes("d/f") });
    expect(await folder.stat(bytes(""))).toMatchObject({ type: "directory", inode: fs.statSync(root, { bigint: true }).ino });
    for (const path of ["way/f", "link/f", "d/f/g", "gone", "gone/f"]) expect(await folder.stat(bytes(path)), path).toBeUndefined();
  });

  it("refuses a folder that leads elsewhere than where it was chosen, or is gone", async () => {
    fs.renameSync(root, join(outer, "moved"));
    await expect(folder.stat(bytes("d"))).rejects.toThrow(refused("FILE_NOT_FOUND"));
    fs.symlinkSync("moved", root);
    await expect(folder.stat(bytes("d"))).rejects.toThrow(refused("PATH_INVALID"));
    await expect(folder.walk({ maxEntries: 9 })).rejects.toThrow(refused("PATH_INVALID"));
  });
});

describe("a walk", () => {
  it("lists all below, and enters no link, no closed folder and nothing that is skipped", async () => {
    fs.mkdirSync(join(root, "e/e"), { recursive: true });
    const keys = async (options: Partial<Parameters<HostFolder["walk"]>[0]> = {}) =>
      [...(await folder.walk({ maxEntries: 6, ...options })).keys()].toSorted();
    expect(await keys()).toEqual(["d", "d/f", "e", "e/e", "link", "way"]);
    expect(await keys({ isClosed: (key) => key === "e" })).toEqual(["d", "d/f", "e", "link", "way"]);
    expect(await keys({ skip: (key, { type }) => key === "d" || type === "link" })).toEqual(["e", "e/e"]);
    await expect(folder.walk({ maxEntries: 5 })).rejects.toThrow(refused("FILE_TOO_LARGE"));
    expect((await folder.walk({ maxEntries: 6 })).get("link")?.target).toEqual(bytes("d/f"));
  });

  it("goes through folders at any depth, with names of any bytes", async () => {
    const name = Buffer.from([0x61, 0xff]);
    const deep = Buffer.concat([bytes(`${root}/d/d/d/`), name]);
    fs.mkdirSync(deep, { recursive: true });
    fs.writeFileSync(Buffer.concat([deep, bytes("/x")]), "");
    expect([...(await folder.walk({ maxEntries: 99 })).keys()]).toContain("d/d/d/a\u00ff/x");
  });

  it("is cut off by its signal, between slices", async () => {
    for (let index = 0; index < 300; index += 1) fs.writeFileSync(join(root, `d/${index}`), "");
    await expect(folder.walk({ maxEntries: 999, signal: AbortSignal.abort() })).rejects.toThrow("aborted");
  });

  it("lets others have their turn while it leaves entries out, and sees its signal", async () => {
    for (let index = 0; index < 600; index += 1) fs.writeFileSync(join(root, `d/${index}`), "");
    const stop = new AbortController();
    let looked = 0;
    const skip = (key: string): boolean => {
      if (key === "d") return false;
      looked += 1;
      if (looked === 1) setImmediate(() => stop.abort());
      return true;
    };
    await expect(folder.walk({ maxEntries: 999, signal: stop.signal, skip })).rejects.toThrow("aborted");
    expect(looked).toBeLessThan(600);
  });

  it("looks at no more of one folder than it may list", async () => {
    for (let index = 0; index < 300; index += 1) fs.writeFileSync(join(root, `d/${index}`), "");
    let looked = 0;
    const skip = (): boolean => (looked += 1) < 0;
    await expect(folder.walk({ maxEntries: 20, skip })).rejects.toThrow(refused("FILE_TOO_LARGE"));
    expect(looked).toBeLessThan(50);
  });
});

describe("a write", () => {
  it("makes files, folders and links that only the owner may open, where nothing lies", async () => {
    await using file = await folder.createFile(bytes("d/new"));
    await file.writeFile("new");
    await folder.makeDirectory(bytes("e"));
    await folder.makeLink(bytes("d/l"), bytes("../link"));
    expect([fs.statSync(join(root, "d/new")).mode & 0o777, fs.statSync(join(root, "e")).mode & 0o777]).toEqual([0o600, 0o700]);
    expect([read("d/new"), fs.readlinkSync(join(root, "d/l"))]).toEqual(["new", "../link"]);
    await expect(folder.createFile(bytes("d/f"))).rejects.toThrow(refused("FILE_EXISTS"));
    await expect(folder.makeDirectory(bytes("d"))).rejects.toThrow(refused("FILE_EXISTS"));
    await expect(folder.makeLink(bytes("link"), bytes("a"))).rejects.toThrow(refused("FILE_EXISTS"));
  });

  it("goes through no link, into nothing that is gone, and to no path that leads out", async () => {
    for (const path of ["way/x", "link/x", "gone/x", "../x", "/x"])
      await expect(folder.makeDirectory(bytes(path)), path).rejects.toThrow(refused("PATH_INVALID"));
    await expect(folder.openFile(bytes("gone"))).rejects.toThrow(refused("FILE_NOT_FOUND"));
    await expect(folder.openFile(bytes("link"))).rejects.toThrow(refused("FILE_IO"));
    await expect(folder.removeFolder(bytes("d/f"))).rejects.toThrow(refused("FILE_IO"));
  });

  it("places a file where nothing lies, and leaves it where it was otherwise", async () => {
    fs.writeFileSync(join(root, "a"), "a");
    await expect(folder.place(bytes("a"), bytes("d/f"))).rejects.toThrow(refused("FILE_EXISTS"));
    expect([read("a"), read("d/f")]).toEqual(["a", "text"]);
    await folder.place(bytes("a"), bytes("d/a"));
    expect([exists("a"), read("d/a")]).toEqual([false, "a"]);
    await folder.place(bytes("link"), bytes("d/link"));
    expect(fs.readlinkSync(join(root, "d/link"))).toBe("d/f");
  });

  it("moves within the folder, and out of it and back", async () => {
    await folder.rename(bytes("d/f"), bytes("g"));
    expect([exists("d/f"), read("g")]).toEqual([false, "text"]);
    expect(await folder.moveOut(bytes("g"), join(outer, "kept"))).toBe(true);
    expect([exists("g"), fs.readFileSync(join(outer, "kept"), "utf8")]).toEqual([false, "text"]);
    expect(await folder.moveIn(join(outer, "kept"), bytes("d/f"))).toBe(true);
    expect(read("d/f")).toBe("text");
    await expect(folder.moveOut(bytes("d/f"), join(outer, "no/where"))).rejects.toThrow(refused("FILE_NOT_FOUND"));
  });

  it("removes files, links and empty folders, and what is gone already", async () => {
    for (const path of ["link", "d/f", "d", "gone", "gone/f"]) await folder.remove(bytes(path));
    expect(fs.readdirSync(root)).toEqual(["way"]);
    fs.mkdirSync(join(root, "d/e"), { recursive: true });
    expect(await folder.removeFolder(bytes("d"))).toBe(false);
    expect(await folder.removeFolder(bytes("d/e"))).toBe(true);
    expect(await folder.removeFolder(bytes("d"))).toBe(true);
  });

  it("sets modes of files and folders, never setuid, and times of anything", async () => {
    await folder.setMode(bytes("d/f"), 0o4751);
    await folder.setMode(bytes("d"), 0o711);
    await folder.setMode(bytes("link"), 0o700);
    expect([fs.statSync(join(root, "d/f")).mode & 0o7777, fs.statSync(join(root, "d")).mode & 0o7777]).toEqual([0o751, 0o711]);
    const at = { type: "file", size: 0, mode: 0, mtimeNs: 1_600_000_000_123_456_000n } as const;
    for (const path of ["d/f", "link"]) await folder.setTime(bytes(path), at);
    for (const path of ["d/f", "link"])
      expect(fs.lstatSync(join(root, path), { bigint: true }).mtimeNs / 1_000_000n).toBe(1_600_000_000_123n);
  });

  it.skipIf(process.getuid?.() !== 0)("gives a file to its owner (skipped without root)", async () => {
    await folder.setOwner(bytes("link"), { uid: 1234, gid: 4321 });
    expect(fs.lstatSync(join(root, "link"))).toMatchObject({ uid: 1234, gid: 4321 });
    expect(fs.statSync(join(root, "d/f")).uid).toBe(0);
  });
});
