import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { sandboxWithFiles, WRITTEN_NS } from "../../../../test/support/guest-files.ts";
import { changeOf, fileEntry, folderEntry, linkEntry } from "../../../../test/support/workspace-entries.ts";
import type { FileInfo } from "../../sandbox.ts";
import { hashOf } from "../compare-content.ts";
import { HostFolder } from "../host-folder.ts";
import { openStaging } from "../staging.ts";
import type { WorkspaceChange } from "../workspace-change.ts";
import { type StageSources, stageChanges } from "./stage-changes.ts";

const { signal } = new AbortController();
const conflict = expect.objectContaining({ code: "WORKSPACE_CONFLICT" }) as Error;

let root: string;
beforeEach(() => (root = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), "bj-stage-")))));
afterEach(() => fs.rmSync(root, { recursive: true }));

/** A file that the sandbox made with this text. */
function added(key: string, text: string, more = {}): WorkspaceChange {
  const change = changeOf(key, fileEntry({ size: Buffer.byteLength(text), mtimeNs: WRITTEN_NS, ...more }), undefined);
  if (!change) throw new TypeError("It is new");
  return change;
}

const hostPath = (path: Buffer) => join(root, path.toString());

/** What is staged of the changes. `see` looks at it while it lies there. */
async function stage<T>(
  changes: readonly WorkspaceChange[],
  files: Readonly<Record<string, string>>,
  see: (staged: Awaited<ReturnType<typeof stageChanges>>) => T,
  { told, ...more }: { readonly told?: Partial<FileInfo> } & Partial<StageSources> = {},
): Promise<T> {
  const folder = new HostFolder(root);
  await using staging = await openStaging(folder);
  return see(await stageChanges({ sandbox: sandboxWithFiles(files, told ? { told } : {}), folder, staging, signal, ...more }, changes));
}

it("takes out files with their modes, times and texts, each under a name of its own", async () => {
  const changes = [added("a", "one", { mode: 0o600 }), added("b/c", "two", { mode: 0o755 })];
  await stage(changes, { a: "one", "b/c": "two" }, (staged) => {
    const [a, c] = [staged.get("a"), staged.get("b/c")];
    if (!a || !c) throw new TypeError("Both are staged");
    expect([fs.readFileSync(hostPath(a.path), "utf8"), fs.readFileSync(hostPath(c.path), "utf8")]).toEqual(["one", "two"]);
    expect([String(a.text), String(c.text)]).toEqual(["one", "two"]);
    expect([a.after, c.after]).toMatchObject([
      { mode: 0o600, mtimeNs: WRITTEN_NS, size: 3 },
      { mode: 0o755, mtimeNs: WRITTEN_NS, size: 3 },
    ]);
    expect(a.after.inode).toBe(fs.statSync(hostPath(a.path), { bigint: true }).ino);
  });
});

it("makes links, and leaves folders, modes and what goes to the steps", async () => {
  const changes = [
    changeOf("link", linkEntry("to\u00ff"), undefined),
    changeOf("folder", folderEntry(), undefined),
    changeOf("mode", fileEntry({ mode: 0o755 }), fileEntry()),
    changeOf("gone", undefined, fileEntry()),
  ].flatMap((change) => change ?? []);
  expect(changes).toHaveLength(4);
  await stage(changes, {}, (staged) => {
    expect([...staged.keys()]).toEqual(["link"]);
    const link = staged.get("link");
    expect([link?.text, fs.readlinkSync(hostPath(link?.path ?? Buffer.alloc(0)))]).toEqual([undefined, "to\u00ff"]);
  });
});

it.each<readonly [string, Partial<FileInfo>, string]>([
  ["is shorter", {}, "on"],
  ["has another size by now", { size: 4 }, "one"],
  ["was written since", { mtimeNs: WRITTEN_NS + 1n }, "one"],
])("refuses a file that %s", async (_, told, text) => {
  await expect(stage([added("a", "one")], { a: text }, () => undefined, { told })).rejects.toThrow(conflict);
});

it("refuses a file that grew, and fills no disk with it", async () => {
  await expect(stage([added("a", "one")], { a: "longer" }, () => undefined)).rejects.toMatchObject({ code: "FILE_TOO_LARGE" });
});

it("takes what was seen alone: a content of another digest is refused", async () => {
  const seen = { ...added("a", "one"), sha256: hashOf(Buffer.from("one")) };
  expect(await stage([seen], { a: "one" }, (staged) => staged.size)).toBe(1);
  await expect(stage([seen], { a: "two" }, () => undefined)).rejects.toThrow(conflict);
});

it("writes what was merged, and keeps the sandbox's text as the next base", async () => {
  const inside = fileEntry({ size: 3, mtimeNs: WRITTEN_NS });
  const merged = { ...added("a", "both"), merged: Buffer.from("both"), unmerged: inside, sha256: hashOf(Buffer.from("one")) };
  await stage([merged], { a: "one" }, (staged) => {
    const file = staged.get("a");
    expect([fs.readFileSync(hostPath(file?.path ?? Buffer.alloc(0)), "utf8"), String(file?.text)]).toEqual(["both", "one"]);
  });
});

it("keeps texts of a mebibyte, and none that is larger or no text", async () => {
  const most = 1024 * 1024;
  const textOf = (text: string) => stage([added("a", text)], { a: text }, (staged) => staged.get("a")?.text?.length);
  expect([await textOf("x".repeat(most)), await textOf("x".repeat(most + 1)), await textOf("a\0b"), await textOf("")]).toEqual([
    most,
    undefined,
    undefined,
    0,
  ]);
});

it.skipIf(process.getuid?.() !== 0)("gives a file the owner that it had, or the folder's (only root may)", async () => {
  const had = { ...added("a", "one"), kind: "modified", host: fileEntry({ uid: 1_234, gid: 1_235 }) } as WorkspaceChange;
  const owner = { uid: 2_234, gid: 2_235 };
  await stage(
    [had, added("b", "two")],
    { a: "one", b: "two" },
    (staged) => {
      expect(staged.get("a")?.after).toMatchObject({ uid: 1_234, gid: 1_235 });
      expect(staged.get("b")?.after).toMatchObject(owner);
    },
    { owner },
  );
});
