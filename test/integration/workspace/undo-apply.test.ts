import { execFileSync } from "node:child_process";
import {
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
  chmodSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Sandbox } from "../../../src/sandbox/sandbox.ts";
import { applyWorkspace } from "../../../src/sandbox/workspace/apply-workspace.ts";
import { openAppliedFolder } from "../../../src/sandbox/workspace/apply/applied-folder.ts";
import type { ApplyJournal, Step } from "../../../src/sandbox/workspace/apply/apply-journal.ts";
import { planSteps } from "../../../src/sandbox/workspace/apply/plan-steps.ts";
import { markProcess } from "../../../src/sandbox/workspace/apply/process-mark.ts";
import { stageChanges } from "../../../src/sandbox/workspace/apply/stage-changes.ts";
import { takeSteps } from "../../../src/sandbox/workspace/apply/take-steps.ts";
import { HostFolder } from "../../../src/sandbox/workspace/host-folder.ts";
import { openStaging } from "../../../src/sandbox/workspace/staging.ts";
import { recoverApply, undoApply } from "../../../src/sandbox/workspace/apply/undo-apply.ts";
import type { WorkspaceChange } from "../../../src/sandbox/workspace/workspace-change.ts";
import { CONFLICT, useMergeHome } from "../../support/merge-home.ts";

const { at, signal, saveByRename, host, open, diff, apply } = useMergeHome();
const { onHost, inside } = at;

/** Names, kinds, modes, links, times of files, contents. */
function state(): string {
  const script =
    "find . -printf '%P %y %m %l\\n' | LC_ALL=C sort; find . -type f -printf '%P %T@\\n' | LC_ALL=C sort; find . -type f | LC_ALL=C sort | xargs cat";
  return execFileSync("sh", ["-c", script], { cwd: at.work, encoding: "utf8" });
}

describe("undoApply", () => {
  it("makes all as it was, with modes, links and times, and the changes are the sandbox's again", async () => {
    for (const name of ["changed", "gone", "folder/gone", "was-file", "moded"]) onHost(name, `${name}\n`);
    symlinkSync("changed", join(at.work, "link"));
    chmodSync(join(at.work, "gone"), 0o640);
    utimesSync(join(at.work, "gone"), 1_000_000_000, 1_000_000_000);
    const before = state();
    const sandbox = await open();
    await inside(
      sandbox,
      "echo x >> changed; rm gone; rm -r folder; rm was-file; mkdir was-file; echo y > was-file/y; chmod 700 moded; ln -sf gone link; mkdir n; echo z > n/z",
    );
    const first = (await apply(sandbox)).written;
    expect(state()).not.toBe(before);
    expect(await undoApply(at.work, at.home)).toMatchObject({ sandboxId: sandbox.id, undone: first.length });
    expect(state()).toBe(before);
    expect((await apply(sandbox)).written).toEqual(first);
    expect(await diff(sandbox)).toMatchObject({ changes: [], conflicts: [] });
  });

  it("refuses what was changed since, says which, and undoes nothing", async () => {
    for (const name of ["a", "b"]) onHost(name, "1\n");
    const sandbox = await open();
    await inside(sandbox, "echo 2 >> a; echo 2 >> b; echo 2 > c");
    await apply(sandbox);
    saveByRename("b", "1\n2\n");
    await expect(undoApply(at.work, at.home)).rejects.toThrow(CONFLICT);
    await expect(undoApply(at.work, at.home)).rejects.toThrow(/apply: b$/);
    expect([host("a"), host("b"), host("c")]).toEqual(["1\n2\n", "1\n2\n", "2\n"]);
  });

  it("can be asked again by the same process after it failed", async () => {
    onHost("a", "1\n");
    const sandbox = await open();
    await inside(sandbox, "echo 2 >> a");
    await apply(sandbox);
    const { staging = "" } = (await openAppliedFolder(at.home, at.work).last()) ?? {};
    onHost(staging, "in the way");
    await expect(undoApply(at.work, at.home)).rejects.toThrow(expect.objectContaining({ code: "PATH_INVALID" }));
    rmSync(join(at.work, staging));
    expect(await undoApply(at.work, at.home)).toEqual({ hostPath: at.work, sandboxId: sandbox.id, undone: 1 });
    expect([host("a"), readdirSync(at.work)]).toEqual(["1\n", ["a"]]);
    await expect(undoApply(at.work, at.home)).rejects.toThrow(/Nothing is to be undone/);
  });

  it("undoes the last apply alone, once", async () => {
    onHost("a", "1\n");
    const sandbox = await open();
    await expect(undoApply(at.work, at.home)).rejects.toThrow(/Nothing is to be undone/);
    for (const line of ["2", "3"]) {
      await inside(sandbox, `echo ${line} >> a`);
      await apply(sandbox);
    }
    await undoApply(at.work, at.home);
    expect(host("a")).toBe("1\n2\n");
    await expect(undoApply(at.work, at.home)).rejects.toThrow(/Nothing is to be undone/);
  });
});

interface CutOff {
  readonly sandbox: Sandbox;
  readonly staging: string;
  readonly steps: Step[];
  readonly changes: readonly WorkspaceChange[];
}

/** The journal of an apply whose process is gone. */
function cutOff({ sandbox, staging, steps, changes }: CutOff): ApplyJournal {
  const outcomes = changes.map(({ key, host: before }) => ({ key, ...(before && { before }), isPlain: true }));
  const writer = "1 2 of a machine that was turned off";
  return { version: 1, id: "j", sandboxId: sandbox.id, hostPath: at.work, staging, writer, steps, outcomes, isComplete: false };
}

describe("an apply that is disturbed", () => {
  const EVERY_STEP =
    "echo x >> changed; rm gone; rm -r folder; rm was-file; mkdir was-file; echo y > was-file/y; chmod 700 moded; ln -sf gone link; mkdir n; echo z > n/z; rm -r was-folder; echo w > was-folder";

  it("is undone by whoever comes next, wherever it was cut off", async () => {
    for (const name of ["changed", "gone", "folder/gone", "was-file", "moded", "was-folder/a"]) onHost(name, `${name}\n`);
    symlinkSync("changed", join(at.work, "link"));
    const before = state();
    const sandbox = await open();
    await inside(sandbox, EVERY_STEP);
    const first = await diff(sandbox);
    const folder = new HostFolder(at.work);
    const applied = openAppliedFolder(at.home, at.work);
    for (let cut = 0, last = 1; cut <= last; cut += 1) {
      const { changes } = await diff(sandbox);
      expect(changes.map(({ path }) => path)).toEqual(first.changes.map(({ path }) => path));
      const staging = await openStaging(folder);
      const files = await stageChanges({ sandbox, folder, staging, signal }, changes);
      const steps = planSteps(changes, { files, nextOld: () => staging.nextOld() });
      last = steps.length;
      const journal = cutOff({ sandbox, staging: staging.root, steps, changes });
      await applied.begin(journal);
      await takeSteps({ folder, signal }, steps.slice(0, cut));
      expect(state()).not.toBe(before);
      await recoverApply(applied, folder);
      expect(state()).toBe(before);
    }
    expect(await applied.cutOff()).toBeUndefined();
    await applyWorkspace(sandbox, await diff(sandbox), { home: at.home, signal });
    expect(await diff(sandbox)).toMatchObject({ changes: [], conflicts: [] });
  });

  it("leaves alone what somebody changed after it was cut off, and keeps the old content", async () => {
    onHost("a", "1\n");
    const sandbox = await open();
    await inside(sandbox, "echo 2 >> a");
    const { changes } = await diff(sandbox);
    const folder = new HostFolder(at.work);
    const applied = openAppliedFolder(at.home, at.work);
    const staging = await openStaging(folder);
    const steps = planSteps(changes, {
      files: await stageChanges({ sandbox, folder, staging, signal }, changes),
      nextOld: () => staging.nextOld(),
    });
    const journal = cutOff({ sandbox, staging: staging.root, steps, changes });
    await applied.begin(journal);
    await takeSteps({ folder, signal }, steps);
    saveByRename("a", "mine\n");
    await expect(recoverApply(applied, folder)).rejects.toThrow(/but for a,/);
    expect([host("a"), readdirSync(at.work)]).toEqual(["mine\n", ["a"]]);
    expect(readdirSync(applied.old).map((name) => readFileSync(join(applied.old, name), "utf8"))).toEqual(["1\n"]);
  });

  it("keeps a second one out while it writes", async () => {
    const sandbox = await open();
    await inside(sandbox, "echo x > a");
    const applied = openAppliedFolder(at.home, at.work);
    const writer = (await markProcess()) ?? "";
    const shown = await diff(sandbox);
    await applied.begin({ ...cutOff({ sandbox, staging: ".belljar-x", steps: [], changes: [] }), writer });
    await expect(applyWorkspace(sandbox, shown, { home: at.home, signal })).rejects.toThrow(/Another apply writes/);
    expect(readdirSync(at.work)).toEqual([]);
  });

  it("keeps the old content if it cannot be undone, for whoever comes next, this process too", async () => {
    for (const name of ["a", "b"]) onHost(name, "1\n");
    const sandbox = await open();
    await inside(sandbox, "echo 2 >> a; rm b");
    const shown = await diff(sandbox);
    const applied = openAppliedFolder(at.home, at.work);
    const journal = join(dirname(applied.old), "writing.json");
    // Once `a` is written somebody saves it, and the home's folder for old files is lost: the old `a` can neither be given back nor kept.
    const disturbing = Object.assign(new AbortController().signal, {
      throwIfAborted() {
        if (!existsSync(journal) || !existsSync(join(at.work, "a")) || host("a") === "1\n") return;
        saveByRename("a", "mine\n");
        rmSync(applied.old, { recursive: true });
        writeFileSync(applied.old, "");
        throw new Error("stop");
      },
    });
    const failed = expect.objectContaining({
      code: "FILE_IO",
      message: expect.stringContaining("The old files are kept") as string,
    }) as Error;
    await expect(applyWorkspace(sandbox, shown, { home: at.home, signal: disturbing })).rejects.toThrow(failed);
    const rest = execFileSync("sh", ["-c", "cat .belljar-*/*"], { cwd: at.work, encoding: "utf8" });
    expect([rest, host("a"), host("b")]).toEqual(["1\n", "mine\n", "1\n"]);

    rmSync(applied.old);
    mkdirSync(applied.old, { mode: 0o700 });
    unlinkSync(join(at.work, "a"));
    await recoverApply(applied, new HostFolder(at.work));
    expect([host("a"), host("b"), readdirSync(at.work)]).toEqual(["1\n", "1\n", ["a", "b"]]);
  });

  it("gives back no half of an old file whose copy out of the home was cut off", async () => {
    onHost("a", "old content\n");
    const sandbox = await open();
    await inside(sandbox, "echo 2 > a");
    await apply(sandbox);
    const applied = openAppliedFolder(at.home, at.work);
    const [written] = [await applied.last()];
    const taken = written?.steps.find(({ kind }) => kind === "take");
    if (!written || taken?.kind !== "take") throw new Error("Nothing was taken");
    await applied.reopen({ ...written, writer: "1 2 of a process that ended" });
    onHost(taken.old, "old");
    await recoverApply(applied, new HostFolder(at.work));
    expect([host("a"), readdirSync(at.work)]).toEqual(["old content\n", ["a"]]);
  });

  it("overwrites nothing that is saved in the moment of the write, and undoes the rest", async () => {
    for (const name of ["a", "b", "z"]) onHost(name, "1\n");
    const sandbox = await open();
    await inside(sandbox, "echo 2 >> a; rm b; echo 2 >> z");
    const shown = await diff(sandbox);
    const folder = join(at.root, "work");
    // Its content changes after it was looked at for the last time: a second name of the file stands for an editor.
    const editor = join(at.root, "editor");
    linkSync(join(folder, "z"), editor);
    const again = await diff(sandbox);
    expect(again.changes.map(({ path }) => path)).toEqual(shown.changes.map(({ path }) => path));
    writeFileSync(editor, "mine\n");
    await expect(applyWorkspace(sandbox, again, { home: at.home, signal })).rejects.toThrow(CONFLICT);
    expect([host("a"), host("b"), host("z"), readdirSync(at.work)]).toEqual(["1\n", "1\n", "mine\n", ["a", "b", "z"]]);
  });
});
