import { execFileSync } from "node:child_process";
import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
  chmodSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { fakeRuntime } from "../../src/runtime/fake/fake-runtime.ts";
import type { LocalSandboxes } from "../../src/sandbox/local-sandboxes-options.ts";
import { createLocalSandboxes } from "../../src/sandbox/local-sandboxes.ts";
import type { Sandbox } from "../../src/sandbox/sandbox.ts";
import { LOCAL } from "../../src/sandbox/sandbox.ts";
import { applyWorkspace } from "../../src/sandbox/workspace/apply-workspace.ts";
import { openAppliedFolder } from "../../src/sandbox/workspace/apply/applied-folder.ts";
import type { ApplyJournal, Step } from "../../src/sandbox/workspace/apply/apply-journal.ts";
import { planSteps } from "../../src/sandbox/workspace/apply/plan-steps.ts";
import { markProcess } from "../../src/sandbox/workspace/apply/process-mark.ts";
import { stageChanges } from "../../src/sandbox/workspace/apply/stage-changes.ts";
import { takeSteps } from "../../src/sandbox/workspace/apply/take-steps.ts";
import { fetchCommits } from "../../src/sandbox/workspace/git-commits.ts";
import { HostFolder } from "../../src/sandbox/workspace/host-folder.ts";
import { openStaging } from "../../src/sandbox/workspace/staging.ts";
import { recoverApply, undoApply } from "../../src/sandbox/workspace/apply/undo-apply.ts";
import type { WorkspaceChange } from "../../src/sandbox/workspace/workspace-change.ts";
import { diffWorkspace } from "../../src/sandbox/workspace/workspace-diff.ts";
import { byName } from "../support/by-name.ts";
import { listed } from "../support/listed.ts";
import { createTestTexts } from "../support/test-texts.ts";

const signal = new AbortController().signal;
const texts = createTestTexts();
afterAll(() => texts[Symbol.dispose]());
const config = { sandbox: { timeoutMs: 60_000 }, listMax: 10, tombstoneRetentionMs: 1000 };
const CONFLICT = expect.objectContaining({ code: "WORKSPACE_CONFLICT" }) as Error;

let root: string;
let work: string;
let home: string;
let sandboxes: LocalSandboxes;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "belljar-merge-")));
  [work, home] = [join(root, "work"), join(root, "home")];
  mkdirSync(work);
  sandboxes = createLocalSandboxes({ home, runtimes: byName(fakeRuntime()), config });
});
afterEach(async () => {
  for (const { id } of await listed(sandboxes, LOCAL, { state: ["running"] })) await (await sandboxes.get(LOCAL, id)).kill();
  await sandboxes[Symbol.asyncDispose]();
  rmSync(root, { recursive: true });
});

const LINES = Array.from({ length: 9 }, (_, index) => `line ${index + 1}\n`);
const text = (...changed: readonly number[]): string =>
  LINES.map((line, index) => (changed.includes(index + 1) ? `changed ${line}` : line)).join("");

function onHost(path: string, content: string | Buffer): void {
  mkdirSync(dirname(join(work, path)), { recursive: true });
  writeFileSync(join(work, path), content);
}

/** As editors save: a new file takes the name. */
function saveByRename(path: string, content: string | Buffer): void {
  onHost(`${path}~`, content);
  renameSync(join(work, `${path}~`), join(work, path));
}

const host = (path: string): string => readFileSync(join(work, path), "utf8");
/** A sandbox whose workspace's list is taken: what is changed from here on was changed after it. */
async function open(): Promise<Sandbox> {
  const sandbox = await sandboxes.create(LOCAL, { workspace: { path: work, mode: "copy" } }, signal);
  expect(await sandbox.workspaceBase([])).toMatchObject({ isComplete: true });
  return sandbox;
}

async function inside(sandbox: Sandbox, script: string): Promise<void> {
  const { exitCode, stderr } = await sandbox.guest.run({ argv: ["sh", "-ec", script], signal });
  expect(stderr.toString()).toBe("");
  expect(exitCode).toBe(0);
}

interface Wishes {
  readonly prefer?: "theirs" | "ours";
  readonly paths?: readonly string[];
  readonly ignored?: boolean;
}

function diff(sandbox: Sandbox, wishes: Wishes = {}) {
  return diffWorkspace(sandbox, { home, texts, signal, ...wishes });
}

/** Shows and writes, as the command does. */
async function apply(sandbox: Sandbox, wishes: Wishes = {}) {
  const shown = await diff(sandbox, wishes);
  await applyWorkspace(sandbox, shown, { home, signal });
  return {
    written: shown.changes.map(({ path }) => path),
    conflicts: Object.fromEntries(shown.conflicts.map(({ change, reason }) => [change.path, reason])),
    held: shown.held.map(({ change }) => change.path),
  };
}

const NOTHING = { written: [], conflicts: {}, held: [] };

function repository(): void {
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd: work, stdio: "pipe" });
  git("init", "-q");
  git("add", "-A");
  git("commit", "-q", "-m", "start");
}

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
    unlinkSync(join(work, "removed"));
    chmodSync(join(work, "moded"), 0o755);
    // An older file, by its times, that has the same size.
    onHost("other/x", "mine\n");
    utimesSync(join(work, "other/x"), 1, 1);
    renameSync(join(work, "swapped"), join(root, "away"));
    renameSync(join(work, "other"), join(work, "swapped"));
    onHost("new", "mine\n");
    expect(await diff(sandbox)).toMatchObject({ changes: [], conflicts: [] });
    await inside(sandbox, "echo x > unrelated");
    expect(await apply(sandbox)).toEqual({ ...NOTHING, written: ["unrelated"] });
    expect(existsSync(join(work, "removed"))).toBe(false);
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
    rmSync(join(work, "folder"), { recursive: true });
    rmSync(join(work, "other"), { recursive: true });
    expect(await apply(sandbox)).toEqual({
      written: ["folder", "folder/more"],
      held: [],
      conflicts: { new: "added inside and outside", "other/b": "changed inside, deleted outside" },
    });
    expect([host("new"), host("alike"), readdirSync(work).toSorted()]).toEqual([
      "mine\n",
      "same\n",
      ["alike", "folder", "new"].concat(prepare === repository ? [".git"] : []).toSorted(),
    ]);
    expect(readdirSync(join(work, "folder"))).toEqual(["more"]);
  });

  it("puts nothing in the place of a folder that was changed outside, and nothing through a link that took its place", async () => {
    onHost("folder/a", "a\n");
    onHost("linked/a", "a\n");
    prepare();
    const sandbox = await open();
    await inside(sandbox, "rm -r folder; echo x > folder; echo x > linked/new");
    onHost("folder/mine", "mine\n");
    renameSync(join(work, "linked"), join(root, "away"));
    symlinkSync(join(root, "away"), join(work, "linked"));
    const { written, conflicts } = await apply(sandbox);
    expect(written).toEqual([]);
    expect(Object.keys(conflicts)).toEqual(["folder", "folder/a", "linked/new"]);
    expect([host("folder/a"), host("folder/mine"), readdirSync(join(root, "away"))]).toEqual(["a\n", "mine\n", ["a"]]);
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
    expect([host("tool"), statSync(join(work, "tool")).mode & 0o777]).toEqual([text(2, 8), 0o755]);
  });
});

describe("what is not proven", () => {
  const manifest = (sandbox: Sandbox): string => join(home, "sandboxes", sandbox.id, "workspace.base");

  it("is a conflict, unless the file is older than the sandbox", async () => {
    for (const name of ["old", "touched", "moved/x"]) onHost(name, "1\n");
    const sandbox = await open();
    await inside(sandbox, "echo 2 >> old; echo 2 >> touched; rm -r moved; echo x > new");
    await diff(sandbox);
    rmSync(manifest(sandbox));
    utimesSync(join(work, "touched"), 1, 1);
    renameSync(join(work, "moved"), join(work, "away"));
    renameSync(join(work, "away"), join(work, "moved"));
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
    rmSync(join(home, "sandboxes", sandbox.id, "workspace.started"));
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

/** Names, kinds, modes, links, times of files, contents. */
function state(): string {
  const script =
    "find . -printf '%P %y %m %l\\n' | LC_ALL=C sort; find . -type f -printf '%P %T@\\n' | LC_ALL=C sort; find . -type f | LC_ALL=C sort | xargs cat";
  return execFileSync("sh", ["-c", script], { cwd: work, encoding: "utf8" });
}

describe("undoApply", () => {
  it("makes all as it was, with modes, links and times, and the changes are the sandbox's again", async () => {
    for (const name of ["changed", "gone", "folder/gone", "was-file", "moded"]) onHost(name, `${name}\n`);
    symlinkSync("changed", join(work, "link"));
    chmodSync(join(work, "gone"), 0o640);
    utimesSync(join(work, "gone"), 1_000_000_000, 1_000_000_000);
    const before = state();
    const sandbox = await open();
    await inside(
      sandbox,
      "echo x >> changed; rm gone; rm -r folder; rm was-file; mkdir was-file; echo y > was-file/y; chmod 700 moded; ln -sf gone link; mkdir n; echo z > n/z",
    );
    const first = (await apply(sandbox)).written;
    expect(state()).not.toBe(before);
    expect(await undoApply(work, home)).toMatchObject({ sandboxId: sandbox.id, undone: first.length });
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
    await expect(undoApply(work, home)).rejects.toThrow(CONFLICT);
    await expect(undoApply(work, home)).rejects.toThrow(/apply: b$/);
    expect([host("a"), host("b"), host("c")]).toEqual(["1\n2\n", "1\n2\n", "2\n"]);
  });

  it("can be asked again by the same process after it failed", async () => {
    onHost("a", "1\n");
    const sandbox = await open();
    await inside(sandbox, "echo 2 >> a");
    await apply(sandbox);
    const { staging = "" } = (await openAppliedFolder(home, work).last()) ?? {};
    onHost(staging, "in the way");
    await expect(undoApply(work, home)).rejects.toThrow(expect.objectContaining({ code: "PATH_INVALID" }));
    rmSync(join(work, staging));
    expect(await undoApply(work, home)).toEqual({ hostPath: work, sandboxId: sandbox.id, undone: 1 });
    expect([host("a"), readdirSync(work)]).toEqual(["1\n", ["a"]]);
    await expect(undoApply(work, home)).rejects.toThrow(/Nothing is to be undone/);
  });

  it("undoes the last apply alone, once", async () => {
    onHost("a", "1\n");
    const sandbox = await open();
    await expect(undoApply(work, home)).rejects.toThrow(/Nothing is to be undone/);
    for (const line of ["2", "3"]) {
      await inside(sandbox, `echo ${line} >> a`);
      await apply(sandbox);
    }
    await undoApply(work, home);
    expect(host("a")).toBe("1\n2\n");
    await expect(undoApply(work, home)).rejects.toThrow(/Nothing is to be undone/);
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
  return { version: 1, id: "j", sandboxId: sandbox.id, hostPath: work, staging, writer, steps, outcomes, isComplete: false };
}

describe("an apply that is disturbed", () => {
  const EVERY_STEP =
    "echo x >> changed; rm gone; rm -r folder; rm was-file; mkdir was-file; echo y > was-file/y; chmod 700 moded; ln -sf gone link; mkdir n; echo z > n/z; rm -r was-folder; echo w > was-folder";

  it("is undone by whoever comes next, wherever it was cut off", async () => {
    for (const name of ["changed", "gone", "folder/gone", "was-file", "moded", "was-folder/a"]) onHost(name, `${name}\n`);
    symlinkSync("changed", join(work, "link"));
    const before = state();
    const sandbox = await open();
    await inside(sandbox, EVERY_STEP);
    const first = await diff(sandbox);
    const folder = new HostFolder(work);
    const applied = openAppliedFolder(home, work);
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
    await applyWorkspace(sandbox, await diff(sandbox), { home, signal });
    expect(await diff(sandbox)).toMatchObject({ changes: [], conflicts: [] });
  });

  it("leaves alone what somebody changed after it was cut off, and keeps the old content", async () => {
    onHost("a", "1\n");
    const sandbox = await open();
    await inside(sandbox, "echo 2 >> a");
    const { changes } = await diff(sandbox);
    const folder = new HostFolder(work);
    const applied = openAppliedFolder(home, work);
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
    expect([host("a"), readdirSync(work)]).toEqual(["mine\n", ["a"]]);
    expect(readdirSync(applied.old).map((name) => readFileSync(join(applied.old, name), "utf8"))).toEqual(["1\n"]);
  });

  it("keeps a second one out while it writes", async () => {
    const sandbox = await open();
    await inside(sandbox, "echo x > a");
    const applied = openAppliedFolder(home, work);
    const writer = (await markProcess()) ?? "";
    const shown = await diff(sandbox);
    await applied.begin({ ...cutOff({ sandbox, staging: ".belljar-x", steps: [], changes: [] }), writer });
    await expect(applyWorkspace(sandbox, shown, { home, signal })).rejects.toThrow(/Another apply writes/);
    expect(readdirSync(work)).toEqual([]);
  });

  it("keeps the old content if it cannot be undone, for whoever comes next, this process too", async () => {
    for (const name of ["a", "b"]) onHost(name, "1\n");
    const sandbox = await open();
    await inside(sandbox, "echo 2 >> a; rm b");
    const shown = await diff(sandbox);
    const applied = openAppliedFolder(home, work);
    const journal = join(dirname(applied.old), "writing.json");
    // Once `a` is written somebody saves it, and the home's folder for old files is lost: the old `a` can neither be given back nor kept.
    const disturbing = Object.assign(new AbortController().signal, {
      throwIfAborted() {
        if (!existsSync(journal) || !existsSync(join(work, "a")) || host("a") === "1\n") return;
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
    await expect(applyWorkspace(sandbox, shown, { home, signal: disturbing })).rejects.toThrow(failed);
    const rest = execFileSync("sh", ["-c", "cat .belljar-*/*"], { cwd: work, encoding: "utf8" });
    expect([rest, host("a"), host("b")]).toEqual(["1\n", "mine\n", "1\n"]);

    rmSync(applied.old);
    mkdirSync(applied.old, { mode: 0o700 });
    unlinkSync(join(work, "a"));
    await recoverApply(applied, new HostFolder(work));
    expect([host("a"), host("b"), readdirSync(work)]).toEqual(["1\n", "1\n", ["a", "b"]]);
  });

  it("gives back no half of an old file whose copy out of the home was cut off", async () => {
    onHost("a", "old content\n");
    const sandbox = await open();
    await inside(sandbox, "echo 2 > a");
    await apply(sandbox);
    const applied = openAppliedFolder(home, work);
    const [written] = [await applied.last()];
    const taken = written?.steps.find(({ kind }) => kind === "take");
    if (!written || taken?.kind !== "take") throw new Error("Nothing was taken");
    await applied.reopen({ ...written, writer: "1 2 of a process that ended" });
    onHost(taken.old, "old");
    await recoverApply(applied, new HostFolder(work));
    expect([host("a"), readdirSync(work)]).toEqual(["old content\n", ["a"]]);
  });

  it("overwrites nothing that is saved in the moment of the write, and undoes the rest", async () => {
    for (const name of ["a", "b", "z"]) onHost(name, "1\n");
    const sandbox = await open();
    await inside(sandbox, "echo 2 >> a; rm b; echo 2 >> z");
    const shown = await diff(sandbox);
    const folder = join(root, "work");
    // Its content changes after it was looked at for the last time: a second name of the file stands for an editor.
    const editor = join(root, "editor");
    linkSync(join(folder, "z"), editor);
    const again = await diff(sandbox);
    expect(again.changes.map(({ path }) => path)).toEqual(shown.changes.map(({ path }) => path));
    writeFileSync(editor, "mine\n");
    await expect(applyWorkspace(sandbox, again, { home, signal })).rejects.toThrow(CONFLICT);
    expect([host("a"), host("b"), host("z"), readdirSync(work)]).toEqual(["1\n", "1\n", "mine\n", ["a", "b", "z"]]);
  });
});

describe("commits made inside", () => {
  it("come to a branch of their own, and nothing else of the repository changes", async () => {
    onHost("a", "1\n");
    repository();
    const git = (...args: string[]) => execFileSync("git", args, { cwd: work, encoding: "utf8" });
    const head = git("rev-parse", "HEAD");
    const sandbox = await open();
    expect((await diff(sandbox)).commits).toBe(0);
    await inside(
      sandbox,
      "echo 2 > b; git add b; for n in 1 2; do git -c user.name=x -c user.email=x@x commit -q --allow-empty -m inside$n; done",
    );
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "mine"], { cwd: work });
    expect((await diff(sandbox)).commits).toBe(2);
    expect((await diff(sandbox, { paths: ["b"] })).commits).toBe(0);
    expect(await fetchCommits({ sandbox, hostPath: work, signal })).toEqual({ branch: `belljar/${sandbox.id}`, commits: 2 });
    expect(git("log", "--format=%s", `belljar/${sandbox.id}`)).toBe("inside2\ninside1\nstart\n");
    expect([git("rev-parse", "HEAD~1"), git("log", "-1", "--format=%s"), git("status", "--short")]).toEqual([head, "mine\n", ""]);
    expect((await diff(sandbox)).commits).toBe(0);
    expect(await fetchCommits({ sandbox, hostPath: work, signal })).toBeUndefined();
  });

  it("do not take the place of commits on that branch", async () => {
    onHost("a", "1\n");
    repository();
    const sandbox = await open();
    const commit = (name: string) => ["-c", "user.name=x", "-c", "user.email=x@x", "commit", "-q", "--allow-empty", "-m", name];
    execFileSync("git", ["checkout", "-q", "-b", `belljar/${sandbox.id}`], { cwd: work });
    execFileSync("git", commit("mine"), { cwd: work });
    execFileSync("git", ["checkout", "-q", "-"], { cwd: work });
    await inside(sandbox, "git -c user.name=x -c user.email=x@x commit -q --allow-empty -m theirs");
    await expect(fetchCommits({ sandbox, hostPath: work, signal })).rejects.toThrow(CONFLICT);
    expect(execFileSync("git", ["log", "-1", "--format=%s", `belljar/${sandbox.id}`], { cwd: work, encoding: "utf8" })).toBe("mine\n");
  });
});

describe("what git of the host ignores", () => {
  it("is left out unless it is named or asked for", async () => {
    onHost(".gitignore", "node_modules/\n*.log\n");
    onHost("kept.log", "tracked\n");
    execFileSync("git", ["init", "-q"], { cwd: work });
    execFileSync("git", ["add", "-f", "-A"], { cwd: work });
    const sandbox = await open();
    await inside(sandbox, "mkdir -p node_modules/a; echo x > node_modules/a/b; echo x > new.log; echo more >> kept.log; echo x > src");
    const paths = async (wishes: Parameters<typeof diff>[1] = {}) => (await diff(sandbox, wishes)).changes.map(({ path }) => path);
    expect(await paths()).toEqual(["kept.log", "src"]);
    expect((await diff(sandbox)).ignored).toBe(2);
    expect(await paths({ ignored: true })).toEqual(["kept.log", "new.log", "node_modules", "node_modules/a", "node_modules/a/b", "src"]);
    expect(await paths({ paths: ["new.log"] })).toEqual(["new.log"]);
    await apply(sandbox);
    expect(readdirSync(work).toSorted()).toEqual([".git", ".gitignore", "kept.log", "src"]);
  });
});
