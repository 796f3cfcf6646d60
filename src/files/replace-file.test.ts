import { mkdir, mkdtemp, readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createFile, replaceFile, replaceFileSync } from "./replace-file.ts";

let folder: string;
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), "bj-replace-"))));
afterEach(() => rm(folder, { recursive: true }));

const WAYS: Readonly<Record<string, (path: string, text: string) => Promise<void>>> = {
  replaceFile: (path, text) => replaceFile(path, text),
  "replaceFile, flushed": (path, text) => replaceFile(path, text, { flush: true }),
  replaceFileSync: async (path, text) => replaceFileSync(path, text),
};

describe.each(Object.entries(WAYS))("%s", (_name, replace) => {
  it("creates a file that only this user can read, replaces it, and leaves no other file", async () => {
    const path = join(folder, "a");
    await replace(path, "old");
    await replace(path, "new");
    expect(await readFile(path, "utf8")).toBe("new");
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readdir(folder)).toEqual(["a"]);
  });

  it("leaves no partial file when the rename fails", async () => {
    const path = join(folder, "a");
    await mkdir(path);
    await expect(replace(path, "x")).rejects.toMatchObject({ code: "EISDIR" });
    expect(await readdir(folder)).toEqual(["a"]);
  });

  it("shows readers only whole contents", async () => {
    const path = join(folder, "a");
    const size = 1_000_000;
    await replace(path, "0".repeat(size));
    const over = new AbortController();
    const write = async (): Promise<void> => {
      for (let round = 1; round <= 15; round += 1) await replace(path, String(round % 10).repeat(size));
      over.abort();
    };
    const look = async (): Promise<void> => {
      while (!over.signal.aborted) {
        const text = await readFile(path, "latin1");
        expect([text.length, text === (text[0] ?? "").repeat(size)]).toEqual([size, true]);
      }
    };
    await Promise.all([write(), look(), look()]);
  });
});

it("keeps the mode that was named", async () => {
  await replaceFile(join(folder, "a"), "x", { mode: 0o640 });
  expect((await stat(join(folder, "a"))).mode & 0o777).toBe(0o640);
});

it("creates a file once, however many callers try at the same time", async () => {
  const path = join(folder, "a");
  const made = await Promise.all(Array.from({ length: 20 }, (_, index) => createFile(path, String(index))));
  expect(made.filter(Boolean)).toHaveLength(1);
  expect(await readFile(path, "utf8")).toBe(String(made.indexOf(true)));
  expect(await readdir(folder)).toEqual(["a"]);
});

it("does not replace an existing file when it creates one", async () => {
  const path = join(folder, "a");
  await writeFile(path, "old");
  expect(await createFile(path, "new")).toBe(false);
  expect(await readFile(path, "utf8")).toBe("old");
});
