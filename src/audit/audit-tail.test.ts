import { appendFile, mkdir, mkdtemp, readdir, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openAuditHome } from "../../test/support/audit-home.ts";
import { toHead, toLine } from "./audit-line.ts";
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

describe("segments of any content", () => {
  let folder: string;
  beforeEach(async () => (folder = await mkdtemp(join(tmpdir(), "belljar-tail-"))));
  afterEach(() => rm(folder, { recursive: true }));

  const lineOf = (tool: string, at = "2026-01-01T00:00:00.000Z", kind = "call"): string =>
    toLine(toHead(1, JSON.stringify({ at, kind, tool })), "0".repeat(64));
  const write = async (name: string, text: string, mtimeMs = 0): Promise<void> => {
    await writeFile(join(folder, name), text);
    await utimes(join(folder, name), mtimeMs / 1_000, mtimeMs / 1_000);
  };

  it("are read with their lines as they stand there", async () => {
    await write("a.jsonl", lineOf("x"));
    const text = lineOf("x").trimEnd();
    const fields = { sequence: 1, at: "2026-01-01T00:00:00.000Z", kind: "call", tool: "x" };
    expect(await readAuditTail(folder, 1)).toEqual([{ at: fields.at, kind: "call", fields, text }]);
  });

  it("tell nothing by lines about segments, by what is no line, and by half of one", async () => {
    await write(
      "a.jsonl",
      `${lineOf("a", undefined, "segment")}made up\n${lineOf("b")}${lineOf("c", undefined, "next")}${lineOf("d").slice(0, -1)}`,
    );
    await write("empty.jsonl", "");
    await write("half.jsonl", "{");
    expect(toolsOf(await readAuditTail(folder, 9))).toEqual(["b"]);
  });

  it("keep their order where lines have one time", async () => {
    await write("a.jsonl", lineOf("a1") + lineOf("a2"));
    await write("b.jsonl", lineOf("b1", "2025-01-01T00:00:00.000Z") + lineOf("b2"));
    const tools = toolsOf(await readAuditTail(folder, 9));
    expect(tools[0]).toBe("b1");
    expect(tools.filter((tool) => tool.startsWith("a"))).toEqual(["a1", "a2"]);
  });

  it("are read where they were written last: fifty of them, 256 KiB of each", async () => {
    for (let at = 0; at < 51; at += 1) await write(`${at}.jsonl`, lineOf(String(at)), 1_000_000 * ((at + 7) % 51));
    await write("99.txt", lineOf("99"), 99_000_000);
    const tools = toolsOf(await readAuditTail(folder, 99));
    expect(tools).toHaveLength(50);
    expect(tools).not.toContain("44");
    /** A line about a segment of so many bytes. */
    const filler = (bytes: number): string => lineOf("x".repeat(bytes - lineOf("", undefined, "segment").length), undefined, "segment");
    const rest = 262_144 - lineOf("whole").length - 4 * 60_000;
    for (const [bytes, isRead] of [
      [rest, true],
      [rest + 1, false],
    ] as const) {
      await write("0.jsonl", lineOf("whole") + filler(60_000).repeat(4) + filler(bytes), 99_000_000);
      expect(toolsOf(await readAuditTail(folder, 99)).includes("whole")).toBe(isRead);
    }
  });

  it("are followed from their ends on, and other files are not", async () => {
    await write("a.jsonl", lineOf("before") + lineOf("half").slice(0, 20));
    await write("notes.txt", lineOf("other"));
    await mkdir(join(folder, "more"));
    const stop = new AbortController();
    const lines = followAudit(folder, stop.signal);
    const first = lines.next();
    await appendFile(join(folder, "notes.txt"), lineOf("other"));
    await appendFile(join(folder, "a.jsonl"), `\n${lineOf("a")}`);
    expect((await first).value).toMatchObject({ fields: { tool: "a" } });
    await appendFile(join(folder, "b.jsonl"), lineOf("b") + lineOf("c").slice(0, 50));
    expect((await lines.next()).value).toMatchObject({ fields: { tool: "b" } });
    await appendFile(join(folder, "b.jsonl"), lineOf("c").slice(50));
    expect((await lines.next()).value).toMatchObject({ fields: { tool: "c" } });
    stop.abort();
    expect(await lines.next()).toMatchObject({ done: true });
  });
});
