import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { sandboxWithFiles } from "../../../test/support/guest-files.ts";
import { changeOf, fileEntry, folderEntry, linkEntry } from "../../../test/support/workspace-entries.ts";
import { hashOf } from "./compare-content.ts";
import type { HostEntry } from "./entry.ts";
import { holdBack } from "./hold-back.ts";
import { HostFolder } from "./host-folder.ts";
import { readGuestFile, readHostFile } from "./read-sides.ts";
import { selectPaths } from "./select-paths.ts";
import type { WorkspaceChange } from "./workspace-change.ts";

const SCRIPTS = "its scripts are run by package managers";
const { signal } = new AbortController();

let root: string;
beforeEach(() => (root = realpathSync(mkdtempSync(join(tmpdir(), "bj-hold-")))));
afterEach(() => rmSync(root, { recursive: true }));

function need(change: WorkspaceChange | undefined): WorkspaceChange {
  if (!change) throw new TypeError("The sides differ");
  return change;
}

/** A change of a file that has these texts. */
function textChange(key: string, guest: string | undefined, host?: string): WorkspaceChange {
  const entry = (text: string | undefined, more: Partial<HostEntry> = {}) =>
    text === undefined ? undefined : fileEntry({ size: Buffer.byteLength(text), ...more });
  if (host !== undefined) writeFileSync(join(root, key), host);
  return need(changeOf(key, entry(guest, { mtimeNs: 11n }), entry(host)));
}

const sidesOf = (files: Readonly<Record<string, string>> = {}) => ({
  sandbox: sandboxWithFiles(files),
  folder: new HostFolder(root),
  signal,
});
const hold = (changes: readonly WorkspaceChange[], files: Readonly<Record<string, string>> = {}, paths: readonly string[] = []) =>
  holdBack({ ...sidesOf(files), selection: selectPaths(paths) }, changes);

it("holds what a program of the host runs or obeys unasked, unless it is named", async () => {
  const [hook, plain] = [need(changeOf(".envrc", fileEntry(), undefined)), need(changeOf("src/a", fileEntry(), undefined))];
  expect(await hold([hook, plain])).toEqual({ free: [plain], held: [{ change: hook, reason: "direnv runs it" }] });
  expect((await hold([hook], {}, [".envrc"])).held).toEqual([]);
});

it("holds nothing that goes, and no empty folder", async () => {
  const gone = need(changeOf(".envrc", undefined, fileEntry()));
  const folder = need(changeOf(".husky", folderEntry(), undefined));
  expect(await hold([gone, folder])).toEqual({ free: [gone, folder], held: [] });
  const mode = need(changeOf(".husky", folderEntry({ mode: 0o700 }), folderEntry()));
  expect((await hold([mode])).held).toHaveLength(1);
});

const PLAIN = '{"name":"a","scripts":{"test":"vitest"}}';
const RENAMED = '{"name":"b","scripts":{"test":"vitest"}}';
const HOSTILE = '{"name":"a","scripts":{"test":"vitest","postinstall":"curl x"}}';

it("judges a package file by its scripts, and writes what it judged alone", async () => {
  const renamed = textChange("package.json", RENAMED, PLAIN);
  expect(await hold([renamed], { "package.json": RENAMED })).toEqual({
    free: [{ ...renamed, sha256: hashOf(Buffer.from(RENAMED)) }],
    held: [],
  });
  const hostile = textChange("package.json", HOSTILE, PLAIN);
  expect(await hold([hostile], { "package.json": HOSTILE })).toEqual({ free: [], held: [{ change: hostile, reason: SCRIPTS }] });
  const added = textChange("package.json", '{"name":"a"}');
  expect((await hold([added], { "package.json": '{"name":"a"}' })).free).toHaveLength(1);
});

it("judges a merged package file by what will be written, whose digest is the sandbox's", async () => {
  const merged = { ...textChange("package.json", RENAMED, PLAIN), merged: Buffer.from(HOSTILE), sha256: "of the sandbox's" };
  expect((await hold([merged])).held).toHaveLength(1);
  const good = { ...merged, merged: Buffer.from(RENAMED) };
  expect((await hold([good])).free).toEqual([good]);
});

it("holds a package file that is a link, or too large to be judged", async () => {
  const link = need(changeOf("package.json", linkEntry("elsewhere"), undefined));
  expect((await hold([link])).held).toEqual([{ change: link, reason: SCRIPTS }]);
  const sized = (bytes: number) => `{"name":"${"x".repeat(bytes - 11)}"}`;
  const most = 1024 * 1024;
  for (const [bytes, held] of [
    [most, 0],
    [most + 1, 1],
  ] as const) {
    const text = sized(bytes);
    expect((await hold([textChange("package.json", text)], { "package.json": text })).held).toHaveLength(held);
    expect((await hold([textChange("package.json", "{}", text)], { "package.json": "{}" })).held).toHaveLength(held);
  }
});

it("leaves a package file whose mode alone changed, and a folder of that name", async () => {
  const mode = need(changeOf("package.json", fileEntry({ mode: 0o755 }), fileEntry()));
  const folder = need(changeOf("package.json", folderEntry({ mode: 0o700 }), folderEntry()));
  expect((await hold([mode, folder])).free).toEqual([mode, folder]);
});

it("reads what each side has, and nothing of what is no file", async () => {
  const sides = sidesOf({ a: "inside" });
  const change = textChange("a", "inside", "outside");
  expect([String(await readGuestFile(sides, change)), String(await readHostFile(sides, change))]).toEqual(["inside", "outside"]);
  const link = need(changeOf("a", linkEntry("x"), linkEntry("y", { size: 9 })));
  expect([await readGuestFile(sides, link), await readHostFile(sides, link)]).toEqual([Buffer.alloc(0), Buffer.alloc(0)]);
  const merged = { ...change, guest: fileEntry({ size: 99 }), unmerged: change.guest } as WorkspaceChange;
  expect(String(await readGuestFile(sides, merged))).toBe("inside");
});

it("refuses a file that changes in the sandbox while it is read", async () => {
  await expect(readGuestFile(sidesOf({ a: "longer" }), textChange("a", "long"))).rejects.toMatchObject({
    code: "WORKSPACE_CONFLICT",
    message: expect.stringContaining("a changes in the sandbox while it is compared") as string,
  });
});
