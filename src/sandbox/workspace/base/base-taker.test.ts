import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { sandboxRecord } from "../../../../test/support/sandbox-record.ts";
import { baseFilesIn, openBase } from "./base-files.ts";
import { BaseTaker } from "./base-taker.ts";

const ID = "a".repeat(20);

let [root, folder] = ["", ""];
let problems: string[];
beforeEach(() => {
  const outer = realpathSync(mkdtempSync(join(tmpdir(), "bj-taker-")));
  [root, folder] = [join(outer, "work"), join(outer, "sandbox")];
  for (const path of [root, folder]) mkdirSync(path);
  problems = [];
  writeFileSync(join(root, "a"), "text");
  symlinkSync("to/b", join(root, "link"));
});
afterEach(() => rmSync(join(root, ".."), { recursive: true }));

const open = () =>
  new BaseTaker(
    () => folder,
    (problem) => problems.push(problem),
  );
const record = (more = {}) => sandboxRecord({ id: ID, workspace: { path: root, mode: "copy" }, ...more });

it("takes down how a copied workspace began, and gives it to who asks meanwhile", async () => {
  await using taker = open();
  taker.begin(record());
  const base = taker.open(ID);
  const { isComplete, startedNs, entries } = await base.workspaceBase(["a", "link", "new"]);
  expect([isComplete, startedNs === undefined]).toEqual([true, false]);
  expect(entries.toSorted((one, other) => (one.key < other.key ? -1 : 1))).toMatchObject([
    { key: "a", type: "file", size: 4 },
    { key: "link", type: "link", target: Buffer.from("to/b") },
  ]);
  expect(String(await base.workspaceBaseText("a"))).toBe("text");
});

it("takes down no workspace that is shown as it is", async () => {
  await using taker = open();
  for (const mode of ["ro", "rw"] as const) taker.begin(record({ workspace: { path: root, mode } }));
  taker.begin(sandboxRecord({ id: ID }));
  expect(existsSync(baseFilesIn(folder).started)).toBe(false);
});

it("waits as it closes for the lists of sandboxes that live on", async () => {
  const taker = open();
  taker.begin(record());
  await taker[Symbol.asyncDispose]();
  expect((await openBase(folder).workspaceBase(["a"])).isComplete).toBe(true);
});

it("reports a folder that cannot be listed, which then proves nothing", async () => {
  await using taker = open();
  taker.begin(record({ workspace: { path: join(root, "gone"), mode: "copy" } }));
  expect((await taker.open(ID).workspaceBase(["a"])).isComplete).toBe(false);
  expect(problems).toEqual([
    expect.stringContaining(`Changes that sandbox ${ID} makes in ${join(root, "gone")} will not all be applied unasked`),
  ]);
});

it("refuses a sandbox whose start it cannot write down", () => {
  rmSync(folder, { recursive: true });
  expect(() => open().begin(record())).toThrow(expect.objectContaining({ code: "FILE_IO" }));
});
