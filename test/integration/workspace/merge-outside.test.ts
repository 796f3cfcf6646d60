import {
  existsSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
  chmodSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Sandbox } from "../../../src/sandbox/sandbox.ts";
import { NOTHING, text, useMergeHome } from "../../support/merge-home.ts";

const { at, saveByRename, host, open, diff, apply, repository } = useMergeHome();
const { onHost, inside } = at;

/** What merging needs, from git or from a copy: both must do. */
describe.each([
  ["a folder", (): void => undefined],
  ["a repository", repository],
])("applyWorkspace to %s that changed too", (_, prepare) => {
  it("merges what both sides changed in different lines", async () => {
    onHost("a", text());
    prepare();
    const sandbox = await open();
    await inside(sandbox, `sed -i 's/line 2/changed line 2/' a`);
    saveByRename("a", text(8));
    expect(await apply(sandbox)).toEqual({ ...NOTHING, written: ["a"] });
    expect(host("a")).toBe(text(2, 8));
    expect(await apply(sandbox)).toEqual(NOTHING);
  });

  it("goes on merging after an apply, from what both sides had then", async () => {
    onHost("a", text());
    prepare();
    const sandbox = await open();
    await inside(sandbox, `sed -i 's/line 2/changed line 2/' a`);
    onHost("a", text(8));
    await apply(sandbox);
    await inside(sandbox, `sed -i 's/line 5/changed line 5/' a`);
    expect(await apply(sandbox)).toEqual({ ...NOTHING, written: ["a"] });
    expect(host("a")).toBe(text(2, 5, 8));
    onHost("a", text(2, 3, 5, 8));
    await inside(sandbox, `sed -i 's/line 9/changed line 9/' a`);
    expect(await apply(sandbox)).toMatchObject({ conflicts: { a: "the same lines were changed inside and outside" } });
    expect(host("a")).toBe(text(2, 3, 5, 8));
  });

  it("leaves alone what both sides changed in the same lines, unless it is told whose side counts", async () => {
    onHost("a", text());
    onHost("b", "b\n");
    prepare();
    const sandbox = await open();
    await inside(sandbox, `sed -i 's/line 4/their line 4/' a; echo more >> b`);
    saveByRename("a", text(4));
    expect(await apply(sandbox)).toEqual({ written: ["b"], held: [], conflicts: { a: "the same lines were changed inside and outside" } });
    expect([host("a"), host("b")]).toEqual([text(4), "b\nmore\n"]);
    expect(await apply(sandbox, { prefer: "ours" })).toEqual(NOTHING);
    expect(host("a")).toBe(text(4));
    expect(await apply(sandbox)).toEqual(NOTHING);
    await inside(sandbox, `sed -i 's/line 4/line 4 again/' a`);
    expect(await apply(sandbox)).toMatchObject({ conflicts: { a: expect.any(String) } });
    expect(await apply(sandbox, { prefer: "theirs" })).toEqual({ ...NOTHING, written: ["a"] });
    expect(host("a")).toBe(text(4).replace("changed line 4", "their line 4 again"));
  });

  it("deletes nothing that was changed outside", async () => {
    for (const name of ["a", "folder/kept", "folder/gone"]) onHost(name, "1\n");
    prepare();
    const sandbox = await open();
    await inside(sandbox, "rm a; rm -r folder");
    for (const name of ["a", "folder/kept", "folder/new"]) saveByRename(name, "2\n");
    expect(await apply(sandbox)).toEqual({
      written: ["folder/gone"],
      held: [],
      conflicts: { a: "deleted inside, changed outside", "folder/kept": "deleted inside, changed outside" },
    });
    expect([host("a"), host("folder/kept"), host("folder/new")]).toEqual(["2\n", "2\n", "2\n"]);
  });

  it("changes nothing that only the host changed, however it was changed", async () => {
    for (const name of ["saved", "renamed", "removed", "moded", "in/place", "swapped/x"]) onHost(name, "same\n");
    prepare();
    const sandbox = await open();
    onHost("saved", "mine\n");
    saveByRename("renamed", "mine\n");
    unlinkSync(join(at.work, "removed"));
    chmodSync(join(at.work, "moded"), 0o755);
    // An older file, by its times, that has the same size.
    onHost("other/x", "mine\n");
    utimesSync(join(at.work, "other/x"), 1, 1);
    renameSync(join(at.work, "swapped"), join(at.root, "away"));
    renameSync(join(at.work, "other"), join(at.work, "swapped"));
    onHost("new", "mine\n");
    expect(await diff(sandbox)).toMatchObject({ changes: [], conflicts: [] });
    await inside(sandbox, "echo x > unrelated");
    expect(await apply(sandbox)).toEqual({ ...NOTHING, written: ["unrelated"] });
    expect(existsSync(join(at.work, "removed"))).toBe(false);
    expect([host("saved"), host("renamed"), host("swapped/x"), host("new")]).toEqual(["mine\n", "mine\n", "mine\n", "mine\n"]);
  });

  it("overwrites nothing that both sides added, and brings back no folder but for what was put into it", async () => {
    onHost("folder/a", "a\n");
    onHost("other/b", "b\n");
    prepare();
    const sandbox = await open();
    await inside(sandbox, "echo theirs > new; echo same > alike; echo more > folder/more; echo c >> other/b");
    onHost("new", "mine\n");
    onHost("alike", "same\n");
    rmSync(join(at.work, "folder"), { recursive: true });
    rmSync(join(at.work, "other"), { recursive: true });
    expect(await apply(sandbox)).toEqual({
      written: ["folder", "folder/more"],
      held: [],
      conflicts: { new: "added inside and outside", "other/b": "changed inside, deleted outside" },
    });
    expect([host("new"), host("alike"), readdirSync(at.work).toSorted()]).toEqual([
      "mine\n",
      "same\n",
      ["alike", "folder", "new"].concat(prepare === repository ? [".git"] : []).toSorted(),
    ]);
    expect(readdirSync(join(at.work, "folder"))).toEqual(["more"]);
  });

  it("puts nothing in the place of a folder that was changed outside, and nothing through a link that took its place", async () => {
    onHost("folder/a", "a\n");
    onHost("linked/a", "a\n");
    prepare();
    const sandbox = await open();
    await inside(sandbox, "rm -r folder; echo x > folder; echo x > linked/new");
    onHost("folder/mine", "mine\n");
    renameSync(join(at.work, "linked"), join(at.root, "away"));
    symlinkSync(join(at.root, "away"), join(at.work, "linked"));
    const { written, conflicts } = await apply(sandbox);
    expect(written).toEqual([]);
    expect(Object.keys(conflicts)).toEqual(["folder", "folder/a", "linked/new"]);
    expect([host("folder/a"), host("folder/mine"), readdirSync(join(at.root, "away"))]).toEqual(["a\n", "mine\n", ["a"]]);
  });

  it("merges modes and leaves what is no text alone", async () => {
    onHost("tool", text());
    onHost("binary", Buffer.from([0, 1, 2]));
    prepare();
    const sandbox = await open();
    await inside(sandbox, "chmod 755 tool; sed -i 's/line 2/changed line 2/' tool; printf '\\000\\001\\003\\003' > binary");
    onHost("tool", text(8));
    saveByRename("binary", Buffer.from([0, 1]));
    expect(await apply(sandbox)).toEqual({
      written: ["tool"],
      held: [],
      conflicts: { binary: expect.stringContaining("inside and outside") },
    });
    expect([host("tool"), statSync(join(at.work, "tool")).mode & 0o777]).toEqual([text(2, 8), 0o755]);
  });
});

describe("what is not proven", () => {
  const manifest = (sandbox: Sandbox): string => join(at.home, "sandboxes", sandbox.id, "workspace.base");

  it("is a conflict, unless the file is older than the sandbox", async () => {
    for (const name of ["old", "touched", "moved/x"]) onHost(name, "1\n");
    const sandbox = await open();
    await inside(sandbox, "echo 2 >> old; echo 2 >> touched; rm -r moved; echo x > new");
    await diff(sandbox);
    rmSync(manifest(sandbox));
    utimesSync(join(at.work, "touched"), 1, 1);
    renameSync(join(at.work, "moved"), join(at.work, "away"));
    renameSync(join(at.work, "away"), join(at.work, "moved"));
    const { changes, conflicts } = await diff(sandbox);
    expect(changes.map(({ path }) => path)).toEqual(["old"]);
    expect(conflicts.map(({ change }) => change.path)).toEqual(["moved", "moved/x", "new", "touched"]);
    for (const { reason } of conflicts) expect(reason).toContain("nothing proves");
  });

  it("is everything when it is not known when the sandbox was made", async () => {
    onHost("old", "1\n");
    const sandbox = await open();
    await inside(sandbox, "echo 2 >> old");
    await diff(sandbox);
    rmSync(manifest(sandbox));
    rmSync(join(at.home, "sandboxes", sandbox.id, "workspace.started"));
    expect(await diff(sandbox)).toMatchObject({ changes: [], conflicts: [{ change: { path: "old" } }] });
  });

  it("is a damaged list", async () => {
    onHost("old", "1\n");
    const sandbox = await open();
    await inside(sandbox, "echo 2 >> old");
    await diff(sandbox);
    const list = readFileSync(manifest(sandbox), "utf8").split("\n");
    writeFileSync(manifest(sandbox), list.slice(1).join("\n"));
    await expect(diff(sandbox)).rejects.toThrow(expect.objectContaining({ code: "FILE_IO" }) as Error);
  });
});
