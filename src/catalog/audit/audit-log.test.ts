import { mkdtemp, readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { AuditedCall } from "./audit.ts";
import { summarise } from "./audit.ts";
import { createAuditLog } from "./audit-log.ts";
import { listSegments, verifySegment } from "./audit-reader.ts";

const CALL: AuditedCall = {
  requestId: "r",
  principal: "local",
  tool: "echo",
  arguments: { a: 1 },
  outcome: "ok",
  resultBytes: 2,
  durationMs: 1.23456,
};

async function openFolder() {
  const path = await mkdtemp(join(tmpdir(), "belljar-audit-"));
  const segments = async () => Promise.all((await readdir(join(path, "audit"))).map((name) => readFile(join(path, "audit", name), "utf8")));
  return { path, directory: join(path, "audit"), segments, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}

/** The first broken line of each segment. */
async function verifyAll(directory: string): Promise<readonly (number | undefined)[]> {
  const checked = await Promise.all((await listSegments(directory)).map((file) => verifySegment(directory, file)));
  return checked.map(({ brokenLine }) => brokenLine);
}

it("writes a line a call, in order, and checks as a chain", async () => {
  await using folder = await openFolder();
  const log = createAuditLog({ directory: folder.directory, now: () => new Date(0) });
  for (const tool of ["a", "b", "c"]) log.record({ ...CALL, tool });
  await log.close();
  const [segment = ""] = await folder.segments();
  const lines = segment
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(lines.map(({ sequence, tool }) => [sequence, tool])).toEqual([
    [1, "a"],
    [2, "b"],
    [3, "c"],
  ]);
  expect(lines[0]).toMatchObject({
    at: "1970-01-01T00:00:00.000Z",
    principal: "local",
    outcome: "ok",
    resultBytes: 2,
    durationMs: 1.235,
    arguments: '{"a":1}',
  });
  expect(await verifyAll(folder.directory)).toEqual([undefined]);
});

it("chains a sandbox's connections with the calls", async () => {
  await using folder = await openFolder();
  const log = createAuditLog({ directory: folder.directory });
  log.record(CALL);
  log.recordConnection({ sandbox: "s", owner: "local", host: "example.com", port: 443, verdict: "refused", reason: "no-rule" });
  await log.close();
  const [segment = ""] = await folder.segments();
  const [call, connection] = segment
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(call).toMatchObject({ sequence: 1, kind: "call", tool: "echo" });
  expect(connection).toMatchObject({ sequence: 2, kind: "connection", host: "example.com", verdict: "refused", reason: "no-rule" });
  expect(await verifyAll(folder.directory)).toEqual([undefined]);
});

it("gives each process's log a file of its own, for the owner alone", async () => {
  await using folder = await openFolder();
  for (let count = 0; count < 2; count += 1) {
    await using log = createAuditLog({ directory: folder.directory });
    log.record(CALL);
  }
  const names = await readdir(folder.directory);
  expect(names).toHaveLength(2);
  expect((await stat(join(folder.directory, names[0] ?? ""))).mode & 0o777).toBe(0o600);
  expect((await stat(folder.directory)).mode & 0o777).toBe(0o700);
});

it("makes no file before the first call", async () => {
  await using folder = await openFolder();
  await createAuditLog({ directory: folder.directory }).close();
  await expect(readdir(folder.directory)).rejects.toMatchObject({ code: "ENOENT" });
});

it("shows a line that was changed, removed or cut", async () => {
  await using folder = await openFolder();
  const log = createAuditLog({ directory: folder.directory });
  for (const tool of ["a", "b", "c"]) log.record({ ...CALL, tool });
  await log.close();
  const [segment = ""] = await folder.segments();
  const [file = ""] = await readdir(folder.directory);
  const verify = async (text: string) => {
    await writeFile(join(folder.directory, file), text);
    return verifySegment(folder.directory, file);
  };
  expect(await verify(segment)).toEqual({ file, lines: 3 });
  expect(await verify(segment.replace('"tool":"b"', '"tool":"x"'))).toMatchObject({ brokenLine: 2 });
  expect(await verify(segment.replace('"tool":"c"', '"tool":"x"'))).toMatchObject({ brokenLine: 3 });
  expect(await verify(segment.split("\n").toSpliced(1, 1).join("\n"))).toMatchObject({ brokenLine: 2 });
  expect(await verify(segment.slice(0, -5))).toEqual({ file, lines: 2, isCut: true });
  expect(await verify(`${segment}not a line\n`)).toMatchObject({ brokenLine: 4 });
});

it("lets nothing run while the disk refuses, and writes all once it does not", async () => {
  await using folder = await openFolder();
  await writeFile(folder.directory, "not a folder");
  const log = createAuditLog({ directory: folder.directory });
  log.record(CALL);
  await expect(log.close()).rejects.toMatchObject({ code: "AUDIT_FAILED" });
  expect(() => log.assertWritable()).toThrowError(expect.objectContaining({ code: "AUDIT_FAILED" }));
  // The refusal has begun another try: it ends before the disk gets better.
  await expect(log.close()).rejects.toMatchObject({ code: "AUDIT_FAILED" });
  await rm(folder.directory);
  log.record(CALL);
  await log.close();
  expect(() => log.assertWritable()).not.toThrow();
  const [segment = ""] = await folder.segments();
  expect(segment.split("\n")).toHaveLength(3);
  expect(await verifyAll(folder.directory)).toEqual([undefined]);
});

it("keeps secrets' values out of the preview, at any depth", () => {
  const { preview } = summarise({ env: { API_KEY: "hunter2", nested: [{ password: "hunter2" }] }, accessToken: "hunter2", path: "a" });
  expect(preview).not.toContain("hunter2");
  expect(preview).toContain('"path":"a"');
});

it("bounds the preview whatever the arguments are", () => {
  const deep = JSON.parse('{"a":'.repeat(500) + "1" + "}".repeat(500));
  const deepest = JSON.parse("[".repeat(200_000) + "]".repeat(200_000));
  for (const args of [deepest, { code: "x".repeat(1_000_000) }, Array.from({ length: 100_000 }, () => "y".repeat(100)), deep, undefined]) {
    expect(summarise(args).preview.length).toBeLessThan(1_100);
  }
});

it("tells two arguments with the same beginning apart by their digest", () => {
  const long = "x".repeat(10_000);
  expect(summarise({ code: `${long}a` }).digest).not.toBe(summarise({ code: `${long}b` }).digest);
});
