import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { fileEntry, linkEntry } from "../../../../test/support/workspace-entries.ts";
import type { HostEntry } from "../entry.ts";
import type { BaseEntry } from "./base-entry.ts";
import { baseFilesIn, openBase, removeBase } from "./base-files.ts";
import { readManifest, writeManifest } from "./manifest-file.ts";
import { takeBase } from "./take-base.ts";
import { writeTexts } from "./text-pack.ts";

const { signal } = new AbortController();

let home: string;
let root: string;
beforeEach(() => {
  home = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), "belljar-base-")));
  root = join(home, "work");
  fs.mkdirSync(root);
});
afterEach(() => fs.rmSync(home, { recursive: true }));

function write(path: string, text: string | Buffer, mode = 0o644): void {
  fs.mkdirSync(join(root, path, ".."), { recursive: true });
  fs.writeFileSync(join(root, path), text);
  fs.chmodSync(join(root, path), mode);
}

const list = () => join(home, "list");
const named = (key: string, { uid: _uid, gid: _gid, ...entry }: HostEntry = fileEntry()): BaseEntry => ({ key, ...entry });
const damaged = expect.objectContaining({ code: "FILE_IO" }) as Error;

describe("the list of a folder", () => {
  const entries = [
    named("a", fileEntry({ size: 7, mode: 0o751, mtimeNs: -5n, ctimeNs: 2n ** 62n, inode: 9n })),
    { ...named("b/\u00ff"), blob: "0123abcd" },
    named('c "quoted" \\ \n', linkEntry("t\u00e4rget")),
    named("d", linkEntry("")),
  ];

  it("gives back the entries that are asked for, as they were", async () => {
    await writeManifest(list(), entries);
    expect(await readManifest(list(), new Set(entries.map(({ key }) => key)))).toEqual(entries);
    expect(await readManifest(list(), new Set(["b/\u00ff", "no"]))).toEqual([entries[1]]);
    expect(await readManifest(list(), new Set())).toEqual([]);
  });

  it("may be long, or empty", async () => {
    const many = Array.from({ length: 2_500 }, (_, index) => named(`f${index}`));
    await writeManifest(list(), many);
    expect(await readManifest(list(), new Set(["f0", "f999", "f1000", "f2499"]))).toHaveLength(4);
    await writeManifest(list(), []);
    expect(await readManifest(list(), new Set(["a"]))).toEqual([]);
  });

  it("is none where there is none", async () => {
    expect(await readManifest(list(), new Set(["a"]))).toBeUndefined();
  });

  it("is refused if it lost lines, or one that is asked for cannot be read", async () => {
    await writeManifest(list(), entries);
    const lines = fs.readFileSync(list(), "utf8").split("\n");
    for (const text of [
      "",
      lines.slice(0, 3).join("\n"),
      [...lines.slice(0, 1), ...lines.slice(2)].join("\n"),
      `${lines.join("\n")}\n[]`,
    ]) {
      fs.writeFileSync(list(), text);
      await expect(readManifest(list(), new Set(["a"])), text).rejects.toThrow(damaged);
    }
    fs.writeFileSync(list(), lines.join("\n").replace('"file",489', '"pipe",489'));
    expect(await readManifest(list(), new Set(["d"]))).toHaveLength(1);
    await expect(readManifest(list(), new Set(["a"]))).rejects.toThrow(damaged);
  });
});

describe("kept texts", () => {
  it("are found by their keys, and only by them", async () => {
    const files = baseFilesIn(home);
    await writeTexts(
      files.texts,
      (async function* () {
        yield { key: "a", text: Buffer.from("one") };
        yield { key: "b/\u00ff", text: Buffer.from("other") };
      })(),
    );
    const base = openBase(home);
    expect(String(await base.workspaceBaseText("a"))).toBe("one");
    expect(String(await base.workspaceBaseText("b/\u00ff"))).toBe("other");
    for (const key of ["c", "toString", "__proto__"]) expect(await base.workspaceBaseText(key)).toBeUndefined();
    fs.appendFileSync(files.texts, Buffer.alloc(8, 255));
    expect(await base.workspaceBaseText("a")).toBeUndefined();
    await removeBase(home);
    expect(await base.workspaceBaseText("a")).toBeUndefined();
  });
});

describe("how a folder began", () => {
  const take = async () => {
    fs.writeFileSync(baseFilesIn(home).started, "");
    await takeBase(root, baseFilesIn(home), signal);
    return openBase(home);
  };

  it("is what was listed, with the texts that no git keeps", async () => {
    write("a.txt", "text");
    write("d/b.txt", "more");
    write("empty", "");
    write("binary", Buffer.from([1, 0, 2]));
    write("large", "x".repeat(1024 * 1024 + 1));
    write("most", "x".repeat(1024 * 1024));
    write("node_modules/m/index.js", "derived");
    write(".git/objects/aa/bb", "stored");
    write(".git/config", "own");
    fs.symlinkSync("a.txt", join(root, "link"));
    const base = await take();
    const answer = await base.workspaceBase(["a.txt", "d", "link", "node_modules/m/index.js", ".git/config", ".git/objects/aa/bb", "no"]);
    expect(answer).toMatchObject({ isComplete: true, startedNs: fs.statSync(baseFilesIn(home).started, { bigint: true }).ctimeNs });
    expect(answer.entries.map(({ key, type }) => `${key} ${type}`).toSorted()).toEqual([
      ".git/config file",
      "a.txt file",
      "d directory",
      "link link",
      "node_modules/m/index.js file",
    ]);
    const texts = ["a.txt", "d/b.txt", "most", "empty", "binary", "large", "node_modules/m/index.js", ".git/config", "link", "d"];
    const kept = await Promise.all(texts.map(async (key) => ((await base.workspaceBaseText(key)) ? [key] : [])));
    expect(kept.flat()).toEqual(["a.txt", "d/b.txt", "most"]);
  });

  it("is not known before it is listed, and not complete after the list is removed", async () => {
    expect(await openBase(home).workspaceBase(["a"])).toEqual({ isComplete: false, entries: [] });
    write("a", "text");
    const base = await take();
    expect(await base.workspaceBase([])).toMatchObject({ isComplete: true, entries: [] });
    await removeBase(home);
    expect(await base.workspaceBase([])).toMatchObject({ isComplete: false, entries: [] });
    expect(await base.workspaceBase(["a"])).toMatchObject({ isComplete: false, startedNs: expect.any(BigInt) as bigint });
  });

  it.skipIf(process.getuid?.() !== 0)("has no texts that the folder's owner may not read (skipped without root)", async () => {
    write("own", "text", 0o600);
    write("others", "text", 0o640);
    write("shown", "text", 0o644);
    fs.chownSync(root, 1234, 1234);
    fs.chownSync(join(root, "own"), 1234, 1234);
    const base = await take();
    expect(
      [await base.workspaceBaseText("own"), await base.workspaceBaseText("others"), await base.workspaceBaseText("shown")].map(String),
    ).toEqual(["text", "undefined", "text"]);
  });

  it("is not listed after the signal has aborted", async () => {
    await expect(takeBase(root, baseFilesIn(home), AbortSignal.abort())).rejects.toThrow("aborted");
    expect(fs.existsSync(baseFilesIn(home).manifest)).toBe(false);
  });
});
