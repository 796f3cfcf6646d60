import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { HostEntry } from "../entry.ts";
import { HostFolder } from "../host-folder.ts";
import type { Step } from "./apply-journal.ts";
import { openOldFiles } from "./old-files.ts";
import { takeSteps } from "./take-steps.ts";
import { undoSteps } from "./undo-steps.ts";

const STAGING = "staging";

let outer: string;
let root: string;
let folder: HostFolder;
beforeEach(() => {
  outer = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), "belljar-steps-")));
  root = join(outer, "root");
  for (const path of ["root/d", `root/${STAGING}`, "old"]) fs.mkdirSync(join(outer, path), { recursive: true });
  fs.chmodSync(join(root, "d"), 0o751);
  write("a", "old a");
  write(`${STAGING}/new`, "new");
  folder = new HostFolder(root);
});
afterEach(() => fs.rmSync(outer, { recursive: true }));

function write(path: string, text: string): void {
  fs.writeFileSync(join(root, path), text);
}

/** All files of the folder with their texts; of the staging folder none. */
function texts(): Readonly<Record<string, string>> {
  const files = fs.readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files.map(({ parentPath, name }) => join(parentPath, name).slice(root.length + 1));
  return Object.fromEntries(
    paths.filter((path) => !path.startsWith(STAGING)).map((path) => [path, fs.readFileSync(join(root, path), "utf8")]),
  );
}

async function entry(path: string): Promise<HostEntry> {
  const found = await folder.stat(Buffer.from(path));
  if (!found) throw new TypeError(`${path} is there`);
  return found;
}

const modeOf = (path: string) => fs.statSync(join(root, path)).mode & 0o777;
const exists = (path: string) => fs.existsSync(join(root, path));
const old = `${STAGING}/old-1`;

/** Replaces the file `a`. */
const replaceA = async (): Promise<Step[]> => [
  { kind: "take", key: "a", old, before: await entry("a") },
  { kind: "place", key: "a", staged: `${STAGING}/new`, after: await entry(`${STAGING}/new`) },
];
const take = (steps: readonly Step[]) => takeSteps({ folder, signal: new AbortController().signal }, steps);

async function undo(steps: readonly Step[]) {
  const journal = { version: 1, id: "i", sandboxId: "s", hostPath: root, staging: STAGING, writer: "w", isComplete: false } as const;
  const ends = await undoSteps(folder, { ...journal, steps: [...steps], outcomes: [] }, openOldFiles(join(outer, "old"), folder));
  return { undone: [...ends.undone].toSorted(), left: [...ends.left].toSorted() };
}

describe("a step that was taken, and undone", () => {
  it("replaces a file, and gives the old one back", async () => {
    const steps = await replaceA();
    await take(steps);
    expect([texts(), exists(old)]).toEqual([{ a: "new" }, true]);
    expect(await undo(steps)).toEqual({ undone: ["a"], left: [] });
    expect([texts(), exists(STAGING)]).toEqual([{ a: "old a" }, false]);
  });

  it("makes a folder with its mode, and removes it", async () => {
    const steps: Step[] = [
      { kind: "make", key: "e" },
      { kind: "mode", key: "e", mode: 0o711 },
    ];
    await take(steps);
    expect(modeOf("e")).toBe(0o711);
    expect(await undo(steps)).toEqual({ undone: ["e"], left: [] });
    expect(exists("e")).toBe(false);
  });

  it("removes a folder, and makes it again with its mode", async () => {
    const steps: Step[] = [{ kind: "unmake", key: "d", before: await entry("d") }];
    await take(steps);
    expect(exists("d")).toBe(false);
    expect(await undo(steps)).toEqual({ undone: ["d"], left: [] });
    expect(modeOf("d")).toBe(0o751);
  });

  it("sets a mode, and gives the old one back", async () => {
    fs.chmodSync(join(root, "a"), 0o640);
    const steps: Step[] = [{ kind: "mode", key: "a", mode: 0o755, before: await entry("a") }];
    await take(steps);
    expect(modeOf("a")).toBe(0o755);
    expect(await undo(steps)).toEqual({ undone: ["a"], left: [] });
    expect(modeOf("a")).toBe(0o640);
  });
});

describe("a step that cannot be taken is a conflict, and leaves what lies there", () => {
  const conflict = expect.objectContaining({ code: "WORKSPACE_CONFLICT" }) as Error;

  it("because the file was changed", async () => {
    const steps = await replaceA();
    write("a", "somebody else's");
    await expect(take(steps)).rejects.toThrow(conflict);
    expect([texts(), exists(old)]).toEqual([{ a: "somebody else's" }, false]);
  });

  it.each<[string, Step]>([
    ["the file is gone", { kind: "take", key: "gone", old, before: {} as HostEntry }],
    ["something lies where a file is to be placed", { kind: "place", key: "a", staged: `${STAGING}/new`, after: {} as HostEntry }],
    ["something lies where a folder is to be made", { kind: "make", key: "a" }],
    ["the folder above is gone", { kind: "make", key: "gone/e" }],
    ["what is to have a mode is gone", { kind: "mode", key: "gone", mode: 0o700 }],
    ["something was put into a folder that is to go", { kind: "unmake", key: "f", before: {} as HostEntry }],
    ["a folder that is to go is gone", { kind: "unmake", key: "gone", before: {} as HostEntry }],
  ])("because %s", async (_, step) => {
    fs.mkdirSync(join(root, "f"));
    write("f/x", "x");
    await expect(take([step])).rejects.toThrow(conflict);
    expect(texts()).toEqual({ a: "old a", "f/x": "x" });
  });

  it("because the mode was changed", async () => {
    const before = await entry("a");
    fs.chmodSync(join(root, "a"), 0o600);
    await expect(take([{ kind: "mode", key: "a", mode: 0o755, before }])).rejects.toThrow(conflict);
    expect(modeOf("a")).toBe(0o600);
  });

  it("and a signal that has aborted takes none", async () => {
    await expect(takeSteps({ folder, signal: AbortSignal.abort() }, await replaceA())).rejects.toThrow("aborted");
    expect(texts()).toEqual({ a: "old a" });
  });
});

describe("undoing", () => {
  it("leaves alone what was not taken, and removes what was on its way", async () => {
    const steps: Step[] = [
      ...(await replaceA()),
      { kind: "make", key: "e" },
      { kind: "mode", key: "d", mode: 0o700, before: await entry("d") },
      { kind: "unmake", key: "d", before: await entry("d") },
    ];
    expect(await undo(steps)).toEqual({ undone: [], left: [] });
    expect([texts(), exists("d"), modeOf("d"), exists(STAGING)]).toEqual([{ a: "old a" }, true, 0o751, false]);
  });

  it("goes on where it was cut off itself", async () => {
    const steps = await replaceA();
    await take(steps);
    await undo(steps.slice(1));
    expect(texts()).toEqual({});
    expect(await undo(steps)).toEqual({ undone: ["a"], left: [] });
    expect(texts()).toEqual({ a: "old a" });
  });

  it("leaves what somebody wrote since, and keeps the old file", async () => {
    const steps = await replaceA();
    await take(steps);
    write("a", "somebody else's");
    expect(await undo(steps)).toEqual({ undone: [], left: ["a"] });
    expect(texts()).toEqual({ a: "somebody else's" });
    expect(fs.readFileSync(join(outer, "old/old-1"), "utf8")).toBe("old a");
  });

  it("leaves a folder into which somebody put something, and what lies where a folder was", async () => {
    const steps: Step[] = [
      { kind: "make", key: "e" },
      { kind: "unmake", key: "d", before: await entry("d") },
    ];
    await take(steps);
    write("e/x", "x");
    write("d", "a file now");
    expect(await undo(steps)).toEqual({ undone: [], left: ["d", "e"] });
    expect(texts()).toEqual({ a: "old a", "e/x": "x", d: "a file now" });
  });

  it("leaves a mode that somebody set since", async () => {
    const steps: Step[] = [{ kind: "mode", key: "a", mode: 0o755, before: await entry("a") }];
    await take(steps);
    fs.chmodSync(join(root, "a"), 0o700);
    expect(await undo(steps)).toEqual({ undone: [], left: [] });
    expect(modeOf("a")).toBe(0o700);
  });
});
