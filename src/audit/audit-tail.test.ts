import { readdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openAuditHome } from "../../test/support/audit-home.ts";
import { followAudit, readAuditTail } from "./audit-tail.ts";

const call = (tool: string) => ({ requestId: "r", principal: "local", tool, arguments: {}, outcome: "ok", resultBytes: 2, durationMs: 1 });

function toolsOf(lines: readonly { readonly text: string }[]): readonly string[] {
  return lines.map(({ text }) => (JSON.parse(text) as { tool: string }).tool);
}

it("merges the last lines of all segments in order of time", async () => {
  await using folder = await openAuditHome();
  let second = 0;
  const now = () => new Date((second += 1000));
  await using one = folder.open({ now });
  await using other = folder.open({ now });
  one.record(call("a"));
  other.record(call("b"));
  one.record(call("c"));
  await Promise.all([one.close(), other.close()]);
  expect(toolsOf(await readAuditTail(folder.segments, 2))).toEqual(["b", "c"]);
  expect(toolsOf(await readAuditTail(folder.segments, 10))).toEqual(["a", "b", "c"]);
});

it("is empty if nothing was ever recorded", async () => {
  await using folder = await openAuditHome();
  expect(await readAuditTail(folder.segments, 2)).toEqual([]);
});

it("ends when its signal aborts, though no line comes", async () => {
  await using folder = await openAuditHome();
  await using one = folder.open();
  one.record(call("before"));
  await one.close();
  const stop = new AbortController();
  const lines = followAudit(folder.segments, stop.signal);
  const first = lines.next();
  one.record(call("a"));
  await one.close();
  await first;
  const next = lines.next();
  stop.abort();
  expect(await next).toMatchObject({ done: true });
});

it("ends when its signal aborts while it waits, though nothing is written any more", async () => {
  await using folder = await openAuditHome();
  await using one = folder.open();
  one.record(call("before"));
  await one.close();
  const stop = new AbortController();
  const next = followAudit(folder.segments, stop.signal).next();
  // Reads what the follower reads first, and so ends after it.
  for (let reads = 0; reads < 3; reads += 1) await readAuditTail(folder.segments, 1);
  stop.abort();
  expect(await next).toMatchObject({ done: true });
});

it("follows existing and new segments", async () => {
  await using folder = await openAuditHome();
  await using one = folder.open();
  one.record(call("before"));
  await one.close();
  const stop = new AbortController();
  const lines = followAudit(folder.segments, stop.signal);
  const first = lines.next();
  one.record(call("a"));
  await one.close();
  await using other = folder.open();
  other.record(call("b"));
  await other.close();
  const seen = [(await first).value, (await lines.next()).value].map((line) => line as { readonly text: string });
  expect(toolsOf(seen).toSorted()).toEqual(["a", "b"]);
  stop.abort();
  expect(await lines.next()).toMatchObject({ done: true });
});

it("continues when Belljar removes a segment that it follows", async () => {
  await using folder = await openAuditHome();
  const day = 86_400_000;
  const openAt = (ms: number) =>
    folder.open({ keep: { ageMs: day, bytes: 1e9 }, now: () => new Date(Date.parse("2026-01-01T00:00:00Z") + ms) });
  await using old = openAt(0);
  old.record(call("old"));
  await old.close();
  const stop = new AbortController();
  const lines = followAudit(folder.segments, stop.signal);
  const first = lines.next();
  await using later = openAt(9 * day);
  await later.prepare();
  await expect.poll(() => readdir(folder.segments), { timeout: 25_000 }).not.toContain(expect.stringMatching(/^20260101/));
  later.record(call("a"));
  await later.close();
  const seen = [(await first).value, (await lines.next()).value].map((line) => line as { readonly kind: string });
  expect(seen.map(({ kind }) => kind)).toEqual(["removed", "call"]);
  stop.abort();
});

it("reads the other segments if one is removed after it was listed", async () => {
  await using folder = await openAuditHome();
  await using log = folder.open();
  log.record(call("a"));
  await log.close();
  await symlink("gone", join(folder.segments, "20260101T000000000Z-000000000000-1.jsonl"));
  expect(toolsOf(await readAuditTail(folder.segments, 2))).toEqual(["a"]);
});
