import { expect, it } from "vitest";
import type { CalledResult } from "../../../support/tool-caller.ts";
import { openToolCaller, readRest, textOf } from "../../../support/tool-caller.ts";

type Caller = Awaited<ReturnType<typeof openToolCaller>>;

const openCaller = (): Promise<Caller> => openToolCaller({ states: true });

async function write(caller: Caller, path: string, content: string, sandbox?: string): Promise<void> {
  await caller.call("write_file", { path, content, ...(sandbox !== undefined && { sandbox }) });
}

async function read(caller: Caller, path: string, sandbox?: string): Promise<string> {
  const result = await caller.call("read_file", { path, ...(sandbox !== undefined && { sandbox }) });
  return result.isError ? (textOf(result).split(":")[0] ?? "") : String(result.value["content"]);
}

const idOf = ({ value }: CalledResult, name: string): string => String(value[name]);

it("goes back to a checkpoint of the default sandbox", async () => {
  await using caller = await openCaller();
  await write(caller, "a.txt", "first\n");
  const taken = await caller.call("sandbox_checkpoint", { label: "before the change" });
  expect(taken.value).toEqual({
    checkpoint_id: expect.stringMatching(/^[a-z0-9]{8}$/),
    label: "before the change",
    created_at: expect.stringMatching(/Z$/),
    way: "copy",
    copied: "programs",
    still_ms: 0.3,
  });
  await write(caller, "a.txt", "second\n");
  const id = idOf(taken, "checkpoint_id");
  expect((await caller.call("sandbox_rollback", { checkpoint_id: id })).value).toEqual({
    checkpoint_id: id,
    ended: ["context python"],
    lost: [],
  });
  expect(await read(caller, "a.txt")).toBe("first\n");
});

it("puts back chosen paths, relative to the folder of commands, and leaves the others", async () => {
  await using caller = await openCaller();
  await write(caller, "a.txt", "first\n");
  const id = idOf(await caller.call("sandbox_checkpoint", {}), "checkpoint_id");
  for (const path of ["a.txt", "b.txt"]) await write(caller, path, "second\n");
  const undone = await caller.call("sandbox_rollback", { checkpoint_id: id, paths: ["a.txt"] });
  expect(undone.value).toEqual({ checkpoint_id: id, changed: ["/home/user/a.txt"], conflicts: [] });
  expect([await read(caller, "a.txt"), await read(caller, "b.txt")]).toEqual(["first\n", "second\n"]);
});

it("shows what changed since the last checkpoint as a model reads it", async () => {
  await using caller = await openCaller();
  await write(caller, "a.txt", "first\n");
  await write(caller, "b.txt", "goes\n");
  const id = idOf(await caller.call("sandbox_checkpoint", {}), "checkpoint_id");
  await write(caller, "a.txt", "second\n");
  await write(caller, "odd\nname", "x\n");
  await caller.call("delete_file", { path: "b.txt" });
  const diff = await caller.call("sandbox_diff", {});
  expect(textOf(diff)).toBe(
    [
      "changed /home/user/a.txt",
      "removed /home/user/b.txt",
      String.raw`added   "/home/user/odd\nname"`,
      "\n--- a/home/user/a.txt\n+++ b/home/user/a.txt\n@@ -1 +1 @@\n-first\n+second",
      "\n--- a/home/user/b.txt\n+++ b/home/user/b.txt\n@@ -1 +1 @@\n-goes",
      "\n--- a/home/user/odd\nname\n+++ b/home/user/odd\nname\n@@ -1 +1 @@\n+x",
      `[from: ${id}, to: now, changes: 3]`,
    ].join("\n"),
  );
  expect(diff.value).toMatchObject({
    from: id,
    to: null,
    omitted: 0,
    changes: [{ kind: "changed" }, { kind: "removed" }, { kind: "added" }],
  });
  const one = await caller.call("sandbox_diff", { from: id, paths: ["b.txt"] });
  expect(one.value["changes"]).toHaveLength(1);
});

it("cuts a long diff, and says how to read on", async () => {
  await using caller = await openCaller();
  const id = idOf(await caller.call("sandbox_checkpoint", {}), "checkpoint_id");
  await write(caller, "long.txt", Array.from({ length: 5_000 }, (_, line) => `line ${line}`).join("\n"));
  const diff = await caller.call("sandbox_diff", { from: id });
  expect(Buffer.byteLength(textOf(diff))).toBeLessThan(17_000);
  expect(textOf(diff)).toMatch(/\[\d+ more lines: read on with read_result/);
  expect((await readRest(caller, diff)).at(-1)).toBe("line 4999");
});

it("lists the time line, the newest first, and where the files come from", async () => {
  await using caller = await openCaller();
  expect((await caller.call("sandbox_log", {})).value).toEqual({ checkpoints: [], head_id: null });
  const first = idOf(await caller.call("sandbox_checkpoint", { label: "one" }), "checkpoint_id");
  const second = idOf(await caller.call("sandbox_checkpoint", {}), "checkpoint_id");
  await caller.call("sandbox_rollback", { checkpoint_id: first });
  expect((await caller.call("sandbox", { action: "log" })).value).toMatchObject({
    checkpoints: [
      { checkpoint_id: second, parent_id: first },
      { checkpoint_id: first, label: "one" },
    ],
    head_id: first,
  });
});

it("keeps a snapshot that outlives its sandbox, and forks it by its name", async () => {
  await using caller = await openCaller();
  const { id } = (await caller.call("sandbox_create", {})).value;
  await write(caller, "a.txt", "kept\n", String(id));
  const taken = await caller.call("sandbox_snapshot", { id, name: "ready", description: "with the tools" });
  expect(taken.value).toMatchObject({ snapshot_id: expect.stringMatching(/^[a-z0-9]{20}$/), name: "ready", sandbox_id: id });
  await caller.call("sandbox_kill", { id });
  const forks = await caller.call("sandbox_fork", { snapshot_id: "ready", count: 2, metadata: ["try=1"] });
  const ids = (forks.value["sandboxes"] as { id: string }[]).map((one) => one.id);
  expect(ids).toHaveLength(2);
  for (const fork of ids) expect(await read(caller, "a.txt", fork)).toBe("kept\n");
  expect((await caller.call("sandbox_snapshots", { action: "list" })).value).toMatchObject({ snapshots: [{ name: "ready" }] });
  expect((await caller.call("sandbox_snapshots", { action: "remove", snapshot_id: "ready" })).value).toEqual({ snapshots: [] });
});

it("forks the default sandbox as it is now, and merges the fork's changes back", async () => {
  await using caller = await openCaller();
  for (const path of ["a.txt", "b.txt"]) await write(caller, path, "same\n");
  const fork = await caller.call("sandbox", { action: "fork", timeout_s: 600 });
  expect(fork.value).toEqual({ id: expect.any(String), short_id: expect.any(String), ip: null, created_at: expect.any(String) });
  const id = idOf(fork, "id");
  for (const path of ["a.txt", "b.txt"]) await write(caller, path, "theirs\n", id);
  await write(caller, "b.txt", "mine\n");
  const merged = await caller.call("sandbox", { action: "merge", from_id: id });
  expect(merged.value).toEqual({
    changed: ["/home/user/a.txt"],
    conflicts: [{ path: "/home/user/b.txt", reason: expect.any(String) }],
  });
  expect([await read(caller, "a.txt"), await read(caller, "b.txt")]).toEqual(["theirs\n", "mine\n"]);
});

it("takes the names that models use of other tools", async () => {
  await using caller = await openCaller();
  const { id } = (await caller.call("sandbox_create", {})).value;
  const point = idOf(await caller.call("sandbox_checkpoint", { sandbox: id }), "checkpoint_id");
  expect((await caller.call("sandbox_log", { sandbox_id: id })).value).toMatchObject({ head_id: point });
  expect((await caller.call("sandbox_diff", { sandbox: id, checkpoint_id: point })).value).toMatchObject({ from: point, changes: [] });
  expect((await caller.call("sandbox_rollback", { sandbox: id, checkpoint: point })).value).toMatchObject({ checkpoint_id: point });
});

it.each([
  ["sandbox_rollback", {}, /^ARGUMENTS_INVALID: Give either checkpoint_id, or calls/],
  ["sandbox_rollback", { checkpoint_id: "nope", calls: 1 }, /^ARGUMENTS_INVALID: Give either checkpoint_id, or calls/],
  ["sandbox_rollback", { calls: 1 }, /^CHECKPOINT_NOT_FOUND: Of the calls .* no call has a checkpoint/],
  ["sandbox_rollback", { checkpoint_id: "nope" }, /^CHECKPOINT_NOT_FOUND/],
  ["sandbox_rollback", { checkpoint_id: "nope", paths: [] }, /^ARGUMENTS_INVALID: [^]*paths/],
  ["sandbox_diff", {}, /^CHECKPOINT_NOT_FOUND: .* has no checkpoint to compare with: take one/],
  ["sandbox_diff", { from: "nope" }, /^CHECKPOINT_NOT_FOUND/],
  ["sandbox_fork", { id: "a", snapshot_id: "b" }, /^ARGUMENTS_INVALID: [^]*excludes id; give one of the two/],
  ["sandbox_fork", { count: 101 }, /^ARGUMENTS_INVALID: [^]*count/],
  ["sandbox_fork", { snapshot_id: "nope" }, /^SNAPSHOT_NOT_FOUND/],
  ["sandbox_snapshots", { action: "remove" }, /^ARGUMENTS_INVALID: .*needs a snapshot_id/],
  ["sandbox_snapshot", { name: "two\nlines" }, /^ARGUMENTS_INVALID: [^]*name: must not hold control characters/],
  ["sandbox_checkpoint", { label: "x".repeat(201) }, /^ARGUMENTS_INVALID: [^]*label/],
  ["sandbox_merge", {}, /^ARGUMENTS_INVALID: [^]*from_id: missing/],
])("answers %s %j with an error that helps", async (name, args, problem) => {
  await using caller = await openCaller();
  expect(textOf(await caller.call(name, args))).toMatch(problem);
});
