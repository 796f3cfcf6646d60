import { describe, expect, it } from "vitest";
import type { CalledResult } from "../../../support/tool-caller.ts";
import { openToolCaller, textOf } from "../../../support/tool-caller.ts";
import { LOCAL } from "../../../../src/sandbox/sandbox.ts";
import { listed } from "../../../support/listed.ts";

const OTHER = { id: "somebody-else", name: "other" };
const signal = new AbortController().signal;

async function create(caller: Awaited<ReturnType<typeof openToolCaller>>, args: object = {}): Promise<string> {
  const { value } = await caller.call("sandbox_create", args);
  return String(value["id"]);
}

it("makes a sandbox with the document's result", async () => {
  await using caller = await openToolCaller();
  const result = await caller.call("sandbox_create", { template: "base", timeout_s: 60, metadata: { job: "a" } });
  expect(result.value).toEqual({
    id: expect.stringMatching(/^[a-z0-9]{20}$/),
    short_id: expect.stringMatching(/^[a-z0-9]{8}$/),
    ip: null,
    created_at: expect.stringMatching(/^\d{4}-/),
  });
  expect(JSON.parse(textOf(result))).toEqual(result.value);
});

it("runs a command in it, with the exit code as a result", async () => {
  await using caller = await openToolCaller();
  const id = await create(caller);
  const result = await caller.call("sandbox_exec", { id, cmd: 'echo "$A"; echo no >&2; exit 3', env: { A: "yes" } });
  expect(result.value).toMatchObject({ stdout: "yes\n", stderr: "no\n", exit_code: 3, timed_out: false });
  expect(textOf(result)).toContain("yes");
});

it("stops a command after timeout_s", async () => {
  await using caller = await openToolCaller();
  const id = await create(caller);
  const result = await caller.call("sandbox_exec", { id, cmd: "sleep 100", timeout_s: 0.05 });
  expect(result.value).toMatchObject({ timed_out: true });
});

it("writes and reads the bytes of a file", async () => {
  await using caller = await openToolCaller();
  const id = await create(caller);
  const content = Buffer.from([0, 1, 254, 255]).toString("base64");
  expect((await caller.call("sandbox_write_file", { id, path: "a/b.bin", content_base64: content })).value).toEqual({
    ok: true,
  });
  expect((await caller.call("sandbox_read_file", { id, path: "a/b.bin" })).value).toEqual({ content_base64: content, size: 4 });
});

it("refuses to read what does not fit in one result", async () => {
  await using caller = await openToolCaller();
  const id = await create(caller);
  await caller.call("sandbox_exec", { id, cmd: "head -c 300000 /dev/zero > big" });
  expect(textOf(await caller.call("sandbox_read_file", { id, path: "big" }))).toMatch(/^FILE_TOO_LARGE/);
});

it("lists the bare array in its text, and by state", async () => {
  await using caller = await openToolCaller();
  const kept = await create(caller, { metadata: { job: "kept" } });
  const ended = await create(caller);
  expect((await caller.call("sandbox_kill", { id: ended })).value).toEqual({ ok: true });
  const result = await caller.call("sandbox_list", {});
  expect(JSON.parse(textOf(result))).toEqual(result.value);
  expect(result.value).toEqual({
    sandboxes: [expect.objectContaining({ sandboxID: kept, state: "running", templateID: "base", metadata: { job: "kept" } })],
  });
  expect((await caller.call("sandbox_list", { state_filter: "ended" })).value).toMatchObject({
    sandboxes: [{ sandboxID: ended }],
  });
  expect((await caller.call("sandbox_list", { state_filter: ["running", "ended"], limit: 1 })).value["sandboxes"]).toHaveLength(1);
});

function idsOf({ value }: CalledResult): readonly string[] {
  return (value["sandboxes"] as readonly { readonly sandboxID: string }[]).map(({ sandboxID }) => sandboxID);
}

it("lists page by page", async () => {
  await using caller = await openToolCaller();
  const made = [await create(caller), await create(caller), await create(caller)];
  const first = await caller.call("sandbox_list", { limit: 2 });
  const cursor = first.value["next_cursor"];
  expect(textOf(first)).toContain(JSON.stringify({ next_cursor: cursor }).slice(1));
  const second = await caller.call("sandbox_list", { limit: 2, cursor });
  expect(second.value).toEqual({ sandboxes: [expect.anything()] });
  expect([...idsOf(first), ...idsOf(second)].toSorted()).toEqual(made.toSorted());
  expect(textOf(await caller.call("sandbox_list", { cursor: "nonsense" }))).toMatch(/^ARGUMENTS_INVALID/);
});

it("lists page by page what does not fit in one text", async () => {
  await using caller = await openToolCaller();
  const metadata = Object.fromEntries(Array.from({ length: 15 }, (_, index) => [`k${index}`, "x".repeat(4_000)]));
  const made = new Set<string>();
  for (let count = 0; count < 6; count += 1) made.add(await create(caller, { metadata }));
  const seen: string[] = [];
  let cursor: unknown;
  do {
    const result = await caller.call("sandbox_list", { ...(cursor !== undefined && { cursor }) });
    expect(Buffer.byteLength(textOf(result))).toBeLessThan(263_000);
    seen.push(...idsOf(result));
    cursor = result.value["next_cursor"];
    expect(seen.length).toBeLessThanOrEqual(6);
  } while (cursor !== undefined);
  expect(new Set(seen)).toEqual(made);
});

it("runs code in no other owner's sandbox", async () => {
  await using caller = await openToolCaller();
  expect(textOf(await caller.call("run_code", { code: "1", sandbox: "z".repeat(20) }))).toMatch(/^SANDBOX_NOT_FOUND/);
});

it.each([
  ["sandbox_snapshot", { name: "one" }],
  ["sandbox_checkpoint", {}],
  ["sandbox_log", {}],
  ["sandbox_diff", {}],
  ["sandbox_rollback", { checkpoint_id: "a" }],
  ["sandbox_fork", {}],
])("says of %s that a runtime which freezes nothing does not support it", async (name, args) => {
  await using caller = await openToolCaller();
  const id = await create(caller);
  expect(textOf(await caller.call(name, { id, ...args }))).toMatch(/^NOT_SUPPORTED/);
});

describe("another owner's id", () => {
  const CALLS = [
    ["sandbox_exec", { cmd: "true" }],
    ["sandbox_read_file", { path: "a" }],
    ["sandbox_write_file", { path: "a", content_base64: "" }],
    ["sandbox_run_code", { code: "1" }],
    ["sandbox_snapshot", {}],
    ["sandbox_checkpoint", {}],
    ["sandbox_log", {}],
    ["sandbox_diff", { from: "a" }],
    ["sandbox_rollback", { checkpoint_id: "a" }],
    ["sandbox_rollback", { checkpoint_id: "a", paths: ["b"] }],
    ["sandbox_fork", {}],
    ["sandbox_merge", { from_id: "c" }],
    ["sandbox_kill", {}],
  ] as const;

  it.each(CALLS)("answers %s exactly as an unknown one", async (name, args) => {
    await using caller = await openToolCaller();
    const theirs = await caller.sandboxes.create(OTHER, {}, signal);
    const unknown = "a".repeat(20);
    const ask = async (id: string) => textOf(await caller.call(name, { id, ...args })).replaceAll(id, "ID");
    expect(await ask(theirs.id)).toBe(await ask(unknown));
    expect(await ask(theirs.id)).toMatch(/^SANDBOX_NOT_FOUND/);
    await theirs.kill();
  });

  it("is not in the list", async () => {
    await using caller = await openToolCaller();
    const theirs = await caller.sandboxes.create(OTHER, {}, signal);
    expect((await caller.call("sandbox_list", {})).value).toEqual({ sandboxes: [] });
    expect(await listed(caller.sandboxes, LOCAL)).toEqual([]);
    await theirs.kill();
  });
});
