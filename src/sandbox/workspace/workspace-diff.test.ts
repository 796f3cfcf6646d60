import { chmodSync, lstatSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WITH_WORKSPACE } from "../../../test/support/run-of.ts";
import type { ErrorCode } from "../../errors.ts";
import { BelljarError } from "../../errors.ts";
import type { FileInfo, Guest, Sandbox, SandboxInfo } from "../sandbox.ts";
import type { Texts } from "../../text/texts.ts";
import type { BaseEntry } from "./base/base-entry.ts";
import { fromHost, fromKey } from "./entry.ts";
import type { DiffOptions } from "./workspace-diff.ts";
import { diffWorkspace } from "./workspace-diff.ts";

let root: string;
let work: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "bj-diff-"));
  work = join(root, "work");
  mkdirSync(work);
});
afterEach(() => rmSync(root, { recursive: true }));

/** What the sandbox has of a path; a text is a file. Absent: what the host has. */
type Inside = string | (Partial<FileInfo> & Pick<FileInfo, "type">);

interface Setting {
  readonly host?: Readonly<Record<string, string>>;
  /** Undefined: the sandbox has nothing there. */
  readonly guest?: Readonly<Record<string, Inside | undefined>>;
  /** What the guest answers who asks for a path by name that it does not list. */
  readonly stat?: ErrorCode | "there";
  readonly mode?: "copy" | "ro" | "rw";
  readonly options?: Partial<DiffOptions>;
  /** The sandbox was made before the files were written. */
  readonly isEarly?: boolean;
}

const PLAIN = { uid: 1000, gid: 1000, owner: "user", group: "user", links: 1, inode: 1n };

function infoOf(key: string, rest: Partial<FileInfo> & Pick<FileInfo, "type">): FileInfo {
  return { ...PLAIN, path: key, rawPath: fromKey(key), size: 0, mode: rest.type === "directory" ? 0o755 : 0o644, mtimeNs: 7n, ...rest };
}

function writeHost(files: Readonly<Record<string, string>>): ReadonlyMap<string, FileInfo> {
  const infos = new Map<string, FileInfo>();
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(work, path)), { recursive: true });
    if (text.startsWith("-> ")) symlinkSync(text.slice(3), join(work, path));
    else writeFileSync(join(work, path), text, { mode: 0o644 });
    for (let key = path; key !== "."; key = dirname(key)) infos.set(key, likeHost(key, text));
  }
  return infos;
}

function likeHost(key: string, text: string): FileInfo {
  if (lstatSync(join(work, key)).isDirectory()) chmodSync(join(work, key), 0o755);
  const stats = lstatSync(join(work, key), { bigint: true });
  const { type, size, mode, mtimeNs } = fromHost(stats);
  return infoOf(key, { type, size, mode, mtimeNs, ...(type === "link" && { target: text.slice(3) }) });
}

/** A diff without the host's git, which these decisions do not ask, and without texts. */
async function diff({ host = {}, guest = {}, stat = "FILE_NOT_FOUND", mode = "copy", options, isEarly }: Setting) {
  const entries = new Map(writeHost(host));
  const began = [...entries.keys()].map((key): BaseEntry => ({ ...fromHost(lstatSync(join(work, key), { bigint: true })), key }));
  const texts = new Map(Object.entries(host));
  for (const [key, inside] of Object.entries(guest)) {
    if (inside === undefined) entries.delete(key);
    else if (typeof inside === "string") entries.set(key, infoOf(key, { type: "file", size: inside.length }));
    else entries.set(key, infoOf(key, inside));
    if (typeof inside === "string") texts.set(key, inside);
  }
  const keyOf = (path: unknown): string => String(path).replace("/workspace/", "");
  const asked: string[] = [];
  const read: string[] = [];
  const files: Partial<Guest["files"]> = {
    async *list() {
      yield* [...entries.values()].toSorted((one, other) => (one.path < other.path ? -1 : 1));
    },
    stat: async (path) => {
      asked.push(keyOf(path));
      if (stat !== "there") throw new BelljarError(stat, "No");
      return infoOf(keyOf(path), { type: "file" });
    },
    open: async (path) => {
      read.push(keyOf(path));
      const content = Buffer.from(texts.get(keyOf(path)) ?? "");
      return { info: infoOf(keyOf(path), { type: "file", size: content.length }), content: Readable.from([content]) };
    },
  };
  const startedNs = isEarly ? 1n : BigInt(Date.now() + 60_000) * 1_000_000n;
  const sandbox: Partial<Sandbox> = {
    id: "a".repeat(20),
    guest: { files } as Partial<Guest> as Guest,
    inside: WITH_WORKSPACE,
    info: async () => ({ workspace: { path: work, mode } }) as Partial<SandboxInfo> as SandboxInfo,
    workspaceBase: async (keys) => ({ startedNs, isComplete: true, entries: began.filter(({ key }) => keys.includes(key)) }),
  };
  const signal = new AbortController().signal;
  const plain = { home: join(root, "home"), texts: {} as Texts, signal, ignored: true, isPathsOnly: true };
  const made = await diffWorkspace(sandbox as Sandbox, { ...plain, ...options });
  return { ...made, asked, read, kinds: made.changes.map(({ kind, path }) => `${kind} ${path}`) };
}

const folder = { type: "directory" } as const;

describe("a difference", () => {
  it("is what came, went, or has another content, type or mode", async () => {
    const host = { a: "a", b: "b", c: "c", d: "d", e: "-> a", same: "same", "in/x": "x" };
    const guest: Setting["guest"] = {
      a: "other",
      b: undefined,
      c: folder,
      d: { type: "file", size: 1, mode: 0o755 },
      e: { type: "link", target: "b", mode: 0o777 },
      new: "n",
      in: { ...folder, mode: 0o700 },
    };
    const { kinds, conflicts, skipped, read } = await diff({ host, guest });
    expect(kinds).toEqual(["modified a", "removed b", "type_changed c", "mode_changed d", "modified e", "mode_changed in", "added new"]);
    expect([conflicts, skipped]).toEqual([[], []]);
    // Contents of two sizes differ: nobody reads them.
    expect(read).toEqual(["d"]);
  });

  it("is none between links with one text, whatever their modes, and folders of any time", async () => {
    const guest = { l: { type: "link", target: "a", mode: 0o700 }, in: folder } as const;
    expect((await diff({ host: { a: "a", l: "-> a", "in/x": "x" }, guest })).kinds).toEqual([]);
  });

  it("is found by contents where the size is the same and the times tell nothing", async () => {
    const changed = await diff({ host: { a: "one" }, guest: { a: "two" } });
    expect([changed.kinds, changed.read]).toEqual([["modified a"], ["a"]]);
    rmSync(join(work, "a"));
    const same = await diff({ host: { a: "one" }, guest: { a: "one" } });
    expect([same.kinds, same.read]).toEqual([[], ["a"]]);
  });

  it("is looked for in no file that is as it was when the sandbox was made", async () => {
    expect((await diff({ host: { a: "one" } })).read).toEqual([]);
    rmSync(join(work, "a"));
    expect((await diff({ host: { a: "one" }, isEarly: true })).read).toEqual(["a"]);
  });
});

describe("what the sandbox does not list", () => {
  it("is removed where nothing is there: the topmost of it is asked for", async () => {
    const guest = { d: undefined, "d/e": undefined, "d/e/f": undefined };
    const { kinds, asked, skipped } = await diff({ host: { "d/e/f": "f" }, guest });
    expect(kinds).toEqual(["removed d", "removed d/e", "removed d/e/f"]);
    expect([asked, skipped]).toEqual([["d"], []]);
  });

  it.each(["FILE_DENIED", "there"] as const)("is left out, and named once, if it may be there (%s)", async (stat) => {
    const { kinds, skipped } = await diff({ host: { "d/e": "e" }, guest: { d: undefined, "d/e": undefined }, stat });
    expect([kinds, skipped]).toEqual([[], [{ path: "d", reason: "the sandbox's user may not read it" }]]);
  });

  it("is gone with the folder that something else has replaced", async () => {
    const { kinds, asked } = await diff({ host: { "d/e": "e" }, guest: { d: "file", "d/e": undefined }, stat: "there" });
    expect([kinds, asked]).toEqual([["type_changed d", "removed d/e"], []]);
  });

  it("is no removal where the guest fails", async () => {
    await expect(diff({ host: { a: "a" }, guest: { a: undefined }, stat: "SANDBOX_ENDED" })).rejects.toMatchObject({
      code: "SANDBOX_ENDED",
    });
  });
});

describe("what is asked for", () => {
  const host = { a: "a", "d/x": "x", "d/y": "y" };
  const guest = { a: "other", "d/x": "other", "d/y": "other" };

  it("is compared alone, by name, folder or pattern", async () => {
    for (const [paths, kinds] of [
      [["d/x"], ["modified d/x"]],
      [["d"], ["modified d/x", "modified d/y"]],
      [
        ["*/y", "a"],
        ["modified a", "modified d/y"],
      ],
    ] as const) {
      expect((await diff({ host, guest, options: { paths } })).kinds).toEqual(kinds);
      rmSync(work, { recursive: true });
      mkdirSync(work);
    }
  });

  it("must lie below the workspace", async () => {
    await expect(diff({ options: { paths: ["../x"] } })).rejects.toMatchObject({ code: "PATH_INVALID" });
  });
});

describe("a workspace", () => {
  it("that is read-only has no differences, and its guest is not asked", async () => {
    const { changes, asked } = await diff({ host: { a: "a" }, guest: { a: undefined }, mode: "ro" });
    expect([changes, asked]).toEqual([[], []]);
  });

  it("that is the host's own folder is not compared", async () => {
    await expect(diff({ mode: "rw" })).rejects.toMatchObject({ code: "WORKSPACE_INVALID", message: expect.stringContaining(work) });
  });

  it("that is not there is not compared", async () => {
    const sandbox: Partial<Sandbox> = { id: "b".repeat(20), info: async () => ({}) as SandboxInfo };
    const options = { home: root, texts: {} as Texts, signal: new AbortController().signal };
    await expect(diffWorkspace(sandbox as Sandbox, options)).rejects.toMatchObject({ code: "WORKSPACE_INVALID" });
  });
});
