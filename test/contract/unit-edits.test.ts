import { execFile } from "node:child_process";
import { mkdir, open, readFile, rename, rm, symlink, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { edited, type FilesPlace, ID, makeFilesPlace } from "../support/files-place.ts";
import { publish, SPEC, versionOf, watchChanges } from "./unit-store.ts";

const run = promisify(execFile);

describe("an edit of a unit's files", () => {
  const CODE = "changed = True\n";
  const ways: Readonly<Record<string, (path: string) => Promise<unknown>>> = {
    "a write over the old content": (path) => writeFile(path, CODE),
    "a new file in the place of the old one": async (path) => {
      await writeFile(`${path}.swp`, CODE);
      await rename(`${path}.swp`, path);
    },
    "a backup and a new file": async (path) => {
      await rename(path, `${path}~`);
      await writeFile(path, CODE);
    },
    "a truncation and a write": async (path) => {
      await using file = await open(path, "r+");
      await file.truncate();
      await file.write(CODE);
    },
    "sed -i": (path) => run("sed", ["-i", "1,$d", path]).then(() => run("sh", ["-c", 'printf "changed = True\\n" > "$0"', path])),
  };

  for (const [title, change] of Object.entries(ways))
    it(`is told and read after ${title}`, async () => {
      await using place = await makeFilesPlace();
      await using store = place.open();
      const told = watchChanges(store.onEdit.bind(store));
      await publish(store, ID, SPEC);
      await told.until(ID);
      await change(place.at("tool.py"));
      do await told.until(ID);
      while ((await edited(store))?.kind !== "changed");
      expect(await edited(store)).toEqual({ kind: "changed", spec: { ...SPEC, code: CODE } });
      expect(await store.edits()).toEqual([ID]);
      await publish(store, ID, { ...SPEC, code: CODE });
      expect(await edited(store)).toBeUndefined();
      told.stop();
    });

  it("of the manifest is part of the spec, and the person's layout stays", async () => {
    await using place = await makeFilesPlace();
    await using store = place.open();
    await publish(store, ID, SPEC);
    const text = `\t{"timeoutMs":7, "network": "none"}`;
    await writeFile(place.at("tool.json"), text);
    const spec = { language: SPEC.language, code: SPEC.code, timeoutMs: 7, network: "none" } as const;
    expect(await edited(store)).toEqual({ kind: "changed", spec });
    await publish(store, ID, spec);
    expect(await edited(store)).toBeUndefined();
    expect(await readFile(place.at("tool.json"), "utf8")).toBe(text);
    await publish(store, ID, { ...spec, timeoutMs: 8 });
    expect(await readFile(place.at("tool.json"), "utf8")).toBe('{\n  "network": "none",\n  "timeoutMs": 8\n}\n');
  });

  it("stays when a version is written meanwhile", async () => {
    await using place = await makeFilesPlace();
    await using store = place.open();
    await publish(store, ID, SPEC);
    await writeFile(place.at("tool.py"), CODE);
    await publish(store, ID, { ...SPEC, code: "theirs = 1" });
    expect(await readFile(place.at("tool.py"), "utf8")).toBe(CODE);
    expect(await edited(store)).toEqual({ kind: "changed", spec: { ...SPEC, code: CODE } });
  });

  it("back to an older version is an edit too", async () => {
    await using place = await makeFilesPlace();
    await using store = place.open();
    await publish(store, ID);
    await publish(store, ID);
    await writeFile(place.at("tool.py"), versionOf(1).spec.code);
    expect(await edited(store)).toEqual({ kind: "changed", spec: versionOf(1).spec });
    expect(await store.edits()).toEqual([ID]);
  });

  it("outlives the removal of the unit, as a new unit", async () => {
    await using place = await makeFilesPlace();
    await using store = place.open();
    await publish(store, ID, SPEC);
    await writeFile(place.at("tool.py"), CODE);
    await store.remove(ID.owner, ID.name, 1);
    expect(await readFile(place.at("tool.py"), "utf8")).toBe(CODE);
    expect(await edited(store)).toEqual({ kind: "changed", spec: { ...SPEC, code: CODE } });
    await publish(store, ID, { ...SPEC, code: CODE });
    expect(await edited(store)).toBeUndefined();
  });

  it("is a new unit if a folder with code is put there", async () => {
    await using place = await makeFilesPlace();
    await using store = place.open();
    const told = watchChanges(store.onEdit.bind(store));
    await mkdir(join(place.folder, "alice/memo.create"), { recursive: true });
    await writeFile(join(place.folder, "alice/memo.create/tool.sh"), "echo memo");
    const id = { owner: "alice", name: "memo.create" };
    await told.until(id);
    expect(await edited(store, id)).toEqual({ kind: "changed", spec: { language: "shell", code: "echo memo" } });
    expect(await store.edits()).toEqual([id]);
    told.stop();
  });

  it("is a removal if the folder is gone, and nothing brings the folder back", async () => {
    await using place = await makeFilesPlace();
    await using store = place.open();
    await publish(store, ID);
    const told = watchChanges(store.onEdit.bind(store));
    await rm(place.at(), { recursive: true });
    await told.until(ID);
    expect(await store.edits()).toEqual([ID]);
    expect(await edited(store)).toEqual({ kind: "removed" });
    expect((await store.head(ID.owner, ID.name))?.revision).toBe(1);
    await store.remove(ID.owner, ID.name, 1);
    expect(await edited(store)).toBeUndefined();
    told.stop();
  });

  it("is told in a folder that gave way to another one", async () => {
    await using place = await makeFilesPlace();
    await using store = place.open();
    await publish(store, ID);
    const told = watchChanges(store.onEdit.bind(store));
    for (let round = 0; round < 3; round += 1) {
      await rm(place.at(), { recursive: true });
      await mkdir(place.at());
      await writeFile(place.at("tool.js"), "first");
      await told.until(ID);
      await writeFile(place.at("tool.js"), `round = ${round}`);
      do await told.until(ID);
      while (!JSON.stringify((await edited(store)) ?? null).includes(`round = ${round}`));
    }
    told.stop();
  });

  it("of 1,000 units at once is told a few times for each, not once for each file", async () => {
    await using place = await makeFilesPlace();
    await using store = place.open();
    const names = Array.from({ length: 1_000 }, (_, index) => `unit-${index}`);
    const told: string[] = [];
    const all = new Promise<void>((resolve) => {
      const seen = new Set<string>();
      store.onEdit((id) => {
        told.push(id?.name ?? "");
        if (seen.add(id?.name ?? "").size === names.length) resolve();
      });
    });
    for (const name of names) {
      await mkdir(join(place.folder, "local", name), { recursive: true });
      await writeFile(join(place.folder, "local", name, "tool.py"), "x = 1");
      await writeFile(join(place.folder, "local", name, "tool.json"), "{}");
    }
    await all;
    expect(told.length).toBeLessThan(3 * names.length);
    expect(await store.edits()).toHaveLength(1_000);
  });
});

describe("files that cannot be a unit", () => {
  const broken: Readonly<Record<string, readonly [(place: FilesPlace) => Promise<unknown>, object]>> = {
    "a manifest that is not JSON": [
      ({ at }) => writeFile(at("tool.json"), '{\n  "reuse": "call",\n  timeoutMs: 5\n}'),
      { file: "tool.json", line: 3, message: expect.stringContaining("not JSON") },
    ],
    "a value of the wrong kind": [
      ({ at }) =>
        writeFile(
          at("tool.json"),
          '{\n  "tests": [\n    { "arguments": {}, "expect": {} },\n    { "arguments": [], "expect": {} }\n  ]\n}',
        ),
      { file: "tool.json", line: 4, message: expect.stringContaining("tests.1.arguments") },
    ],
    "a key that nobody knows": [
      ({ at }) => writeFile(at("tool.json"), '{\n  "reuse": "call",\n  "requirments": []\n}'),
      { file: "tool.json", line: 3, message: expect.stringContaining("requirments") },
    ],
    "a manifest of very many levels": [
      ({ at }) => writeFile(at("tool.json"), "[".repeat(100_000)),
      { file: "tool.json", line: 1, message: expect.stringContaining("levels") },
    ],
    "no code": [({ at }) => writeFile(at("tool.py"), ""), { file: "tool.py", message: expect.stringContaining("no code") }],
    "too much code": [({ at }) => writeFile(at("tool.py"), Buffer.alloc(2 ** 20 + 1, 65)), { file: "tool.py" }],
    "too large a manifest": [({ at }) => writeFile(at("tool.json"), Buffer.alloc(2 ** 18 + 1, 32)), { file: "tool.json" }],
    "bytes that are no text": [
      ({ at }) => writeFile(at("tool.py"), Buffer.from([0x23, 0xff])),
      { file: "tool.py", message: expect.stringContaining("UTF-8") },
    ],
    "code in two languages": [
      ({ at }) => writeFile(at("tool.sh"), "true"),
      { file: "tool.sh", message: expect.stringContaining("tool.py") },
    ],
    "no file with code": [({ at }) => unlink(at("tool.py")), { file: "tool.json", message: expect.stringContaining("tool.py") }],
    "a link": [
      async ({ at }) => {
        await unlink(at("tool.py"));
        await symlink("/etc/passwd", at("tool.py"));
      },
      { file: "tool.py", message: expect.stringContaining("link") },
    ],
    "a FIFO": [
      async ({ at }) => {
        await unlink(at("tool.py"));
        await run("mkfifo", [at("tool.py")]);
      },
      { file: "tool.py", message: "is not a file" },
    ],
    "a folder": [({ at }) => mkdir(at("tool.js")), { file: "tool.js", message: "is not a file" }],
  };

  for (const [title, [change, problem]] of Object.entries(broken))
    it(`are told with the reason: ${title}`, async () => {
      await using place = await makeFilesPlace();
      await using store = place.open();
      await publish(store, ID, SPEC);
      await change(place);
      expect(await edited(store)).toMatchObject({ kind: "invalid", problem });
      expect(await store.edits()).toEqual([ID]);
      await publish(store, ID, { ...SPEC, code: "theirs = 1" });
      expect(await edited(store)).toMatchObject({ kind: "invalid", problem });
    });

  it("are not looked for behind a link to a folder", async () => {
    await using place = await makeFilesPlace();
    await using store = place.open();
    await mkdir(join(place.folder, "../outside"));
    await writeFile(join(place.folder, "../outside/tool.py"), "x = 1");
    await mkdir(join(place.folder, ID.owner));
    await symlink("../../outside", place.at().slice(0, -1));
    expect(await store.edits()).toEqual([]);
    expect(await edited(store)).toBeUndefined();
  });

  it("are told of when nobody can say whose they are", async () => {
    await using place = await makeFilesPlace();
    await using store = place.open();
    await mkdir(join(place.folder, "local/my tool"), { recursive: true });
    expect(await store.edits()).toEqual([]);
    expect(place.problems).toEqual([expect.stringContaining("my tool is left out")]);
  });
});
