import { execFile } from "node:child_process";
import { mkdtempSync, realpathSync, statSync } from "node:fs";
import { appendFile, mkdir, readdir, readFile, rm, unlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { digestOf } from "../../src/dynamic/store/read-unit-folder.ts";
import type { EditableStore } from "../../src/dynamic/store/unit-store.ts";
import { edited, type FilesPlace, ID, makeFilesPlace } from "../support/files-place.ts";
import { nextHead, publish, SPEC, startStoreWorker, unitStoreContract, versionOf } from "./unit-store.ts";

const run = promisify(execFile);

unitStoreContract(makeFilesPlace);

describe("the folder of a unit", () => {
  it("has the newest version's code and manifest, for its user alone", async () => {
    await using place = await makeFilesPlace();
    await using store = place.open();
    await publish(store, ID, SPEC);
    expect((await readdir(place.at())).toSorted()).toEqual(["tool.json", "tool.py"]);
    expect(await readFile(place.at("tool.py"), "utf8")).toBe(SPEC.code);
    const { code: _code, language: _language, ...manifest } = SPEC;
    expect(await readFile(place.at("tool.json"), "utf8")).toBe(`${JSON.stringify(manifest, undefined, 2)}\n`);
    expect([statSync(place.folder), statSync(place.at()), statSync(place.at("tool.py"))].map(({ mode }) => mode & 0o777)).toEqual([
      0o700, 0o700, 0o600,
    ]);
    await publish(store, ID, { language: "typescript", code: "export {}" });
    expect((await readdir(place.at())).toSorted()).toEqual(["tool.json", "tool.ts"]);
    expect(await edited(store)).toBeUndefined();
    expect(await store.edits()).toEqual([]);
  });

  it("goes with the unit, unless a person has put something into it", async () => {
    await using place = await makeFilesPlace();
    await using store = place.open();
    await publish(store, ID);
    await writeFile(place.at("notes.md"), "mine");
    await store.remove(ID.owner, ID.name, 1);
    expect(await readdir(place.at())).toEqual(["notes.md"]);
    await publish(store, { ...ID, name: "other" });
    await store.remove(ID.owner, "other", 1);
    expect(await readdir(join(place.folder, ID.owner))).toEqual(["weather"]);
    expect(await store.edits()).toEqual([]);
  });

  it("never leads out of the store's folder", async () => {
    await using place = await makeFilesPlace();
    await using store = place.open();
    for (const text of ["..", "../x", "/x", "a/b", ".belljar"]) await publish(store, { owner: text, name: text });
    expect(await readdir(join(place.folder, ".."))).toEqual(["tools"]);
    const owners = (await readdir(place.folder)).filter((name) => name !== ".belljar");
    expect(owners.filter((name) => /^[A-Za-z0-9_-]*~[0-9a-f]{32}$/.test(name))).toHaveLength(5);
    for (const owner of owners) expect(await readdir(join(place.folder, owner))).toEqual([owner]);
  });

  it("is ended by the next opening if a process was killed between the head and the files", async () => {
    await using place = await makeFilesPlace();
    await using store = place.open();
    await publish(store, ID);
    await publish(store, ID);
    // What a kill leaves: the files of the older version, or of neither.
    await writeFile(place.at("tool.py"), versionOf(1).spec.code);
    const unit = join(place.folder, ".belljar/units/local@weather");
    const path = join(unit, (await readdir(unit)).find((name) => name.startsWith("placed.")) ?? "");
    for (const leave of [() => Promise.resolve(), () => unlink(place.at("tool.py"))]) {
      await leave();
      await writeFile(path, JSON.stringify({ placed: [], pending: [{ id: "x", atMs: Date.now(), digests: await digestsOfFiles(place) }] }));
      expect(await edited(store)).toBeUndefined();
      expect(await store.edits()).toEqual([]);
      expect(await readFile(place.at("tool.py"), "utf8")).toBe(versionOf(2).spec.code);
    }
  });

  it("shows the newest version after processes were killed at any moment", async () => {
    await using place = await makeFilesPlace();
    const id = { owner: "local", name: "shared" };
    for (let round = 0; round < 6; round += 1) {
      const worker = startStoreWorker("publish", place);
      for (let lines = 0; lines <= round; lines += 1) await worker.says();
      await worker.kill();
      await using store = place.open();
      expect(await store.edits()).toEqual([]);
      const newest = (await store.head(id.owner, id.name))?.versions.at(-1)?.number ?? 0;
      const version = await store.version(id.owner, id.name, newest);
      expect(await readFile(join(place.folder, "local/shared/tool.py"), "utf8")).toBe(version?.spec.code);
    }
    expect(await readdir(join(place.folder, ".belljar/aside"))).toEqual([]);
  });

  it("loses what killed processes left behind once that is old, and removed units after a day", async () => {
    await using place = await makeFilesPlace();
    const units = join(place.folder, ".belljar/units");
    const left = ["version-7.0123456789abcdef.json", ".new-0123456789abcdef"];
    {
      await using store = place.open();
      for (const name of ["kept", "removed", "fresh"]) await publish(store, { owner: "local", name });
      for (const name of ["removed", "fresh"]) await store.remove("local", name, 1);
    }
    const kept = await readdir(join(units, "local@kept"));
    for (const name of left) await writeFile(join(units, "local@kept", name), "{");
    await (await reopen(place))[Symbol.asyncDispose]();
    expect((await readdir(join(units, "local@kept"))).toSorted()).toEqual([...kept, ...left].toSorted());
    const old = new Date(Date.now() - 25 * 60 * 60 * 1_000);
    for (const path of [...[...kept, ...left].map((name) => `local@kept/${name}`), "local@removed"])
      await utimes(join(units, path), old, old);
    await using store = await reopen(place);
    expect((await readdir(units)).toSorted()).toEqual(["local@fresh", "local@kept"]);
    expect((await readdir(join(units, "local@kept"))).toSorted()).toEqual(kept.toSorted());
    expect(await store.version("local", "kept", 1)).toEqual(versionOf(1));
  });

  it("has no file of a version that was refused", async () => {
    await using place = await makeFilesPlace();
    await using store = place.open();
    const specs = Array.from({ length: 5 }, (_, index) => ({ ...SPEC, code: `writer = ${index}` }));
    await Promise.allSettled(specs.map((spec) => store.write(nextHead(ID, undefined, versionOf(1)), 0, versionOf(1, spec))));
    const files = await readdir(join(place.folder, ".belljar/units/local@weather"));
    expect(files.filter((name) => name.startsWith("version-"))).toHaveLength(1);
  });
});

/** A store whose sweep is over. */
async function reopen(place: FilesPlace): Promise<EditableStore> {
  await place.open()[Symbol.asyncDispose]();
  return place.open();
}

async function digestsOfFiles(place: FilesPlace): Promise<readonly string[]> {
  const files = await readdir(place.at());
  return Promise.all(files.map(async (name) => digestOf(name, await readFile(place.at(name)))));
}

describe("what is damaged in the store", () => {
  it("hides its unit alone, and is told once", async () => {
    await using place = await makeFilesPlace();
    await using store = place.open();
    const names = ["broken", "cut", "empty", "foreign"];
    for (const name of [...names, "whole"]) await publish(store, { owner: "local", name });
    const head = (name: string): string => join(place.folder, `.belljar/units/local@${name}/head.1.json`);
    const whole = await readFile(head("whole"), "utf8");
    await writeFile(head("broken"), "{not json");
    await writeFile(head("cut"), whole.slice(0, 50));
    await writeFile(head("empty"), "");
    await writeFile(head("foreign"), whole);
    for (let round = 0; round < 2; round += 1) expect((await store.heads()).map(({ name }) => name)).toEqual(["whole"]);
    expect(place.problems.toSorted()).toEqual(names.map((name) => expect.stringContaining(`local@${name}/head.1.json is damaged`)));
    for (const name of names) {
      const id = { owner: "local", name };
      expect(await store.head("local", name)).toBeUndefined();
      await expect(store.write(nextHead(id, undefined, versionOf(1)), 0, versionOf(1))).rejects.toMatchObject({ code: "FILE_IO" });
      await expect(store.remove("local", name, 1)).rejects.toMatchObject({ code: "FILE_IO" });
    }
    expect(await store.edits()).toEqual([]);
    expect(await readFile(join(place.folder, "local/broken/tool.py"), "utf8")).toBe(versionOf(1).spec.code);
  });

  it("hides its version alone", async () => {
    await using place = await makeFilesPlace();
    await using store = place.open();
    await publish(store, ID);
    const head = await publish(store, ID);
    const versions = join(place.folder, ".belljar/units/local@weather");
    const newest = (await readdir(versions)).find((name) => name.startsWith("version-2.")) ?? "";
    await writeFile(join(versions, newest), "{");
    expect(await store.version(ID.owner, ID.name, 1)).toEqual(versionOf(1));
    expect(await store.version(ID.owner, ID.name, 2)).toBeUndefined();
    expect(await store.heads()).toEqual([head]);
    expect(place.problems).toEqual([expect.stringContaining(newest)]);
    expect(await edited(store)).toBeUndefined();
    await publish(store, ID);
    expect(await store.version(ID.owner, ID.name, 3)).toEqual(versionOf(3));
    expect(await readFile(place.at("tool.py"), "utf8")).toBe(versionOf(3).spec.code);
  });

  it("does not keep the store from opening", async () => {
    await using place = await makeFilesPlace();
    {
      await using store = place.open();
      await publish(store, ID);
    }
    for (const folder of ["units", "units/local@weather", "aside"])
      await writeFile(join(place.folder, ".belljar", folder, "stray@file"), "x");
    await mkdir(join(place.folder, ".belljar/units/local@other/head.1.json"), { recursive: true });
    await appendFile(join(place.folder, "README.md"), "mine");
    await using store = place.open();
    expect(await store.head(ID.owner, ID.name)).toBeDefined();
    expect(await store.edits()).toEqual([]);
  });
});

/** On a file system of the test's own, in namespaces of the process. */
it("stores nothing by half on a full disk", async () => {
  const disk = realpathSync(mkdtempSync(join(tmpdir(), "belljar-disk-")));
  try {
    const fixture = join(import.meta.dirname, "../fixtures/full-disk-units.mjs");
    const { stdout } = await run("unshare", ["--user", "--map-root-user", "--mount", process.execPath, fixture, disk]);
    expect(JSON.parse(stdout)).toEqual({
      refused: "DISK_FULL",
      whileFull: { revision: 1, code: "first", files: ["version-1"], unfinished: [] },
      after: { revision: 2, code: "second", files: ["version-1", "version-2"], unfinished: [] },
      edits: [],
    });
  } finally {
    await rm(disk, { recursive: true });
  }
});
