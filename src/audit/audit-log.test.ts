import { readdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type AuditTestHome, CALL, openAuditHome, REFUSED } from "../../test/support/audit-home.ts";
import { summarise } from "./audit.ts";

const OWNED = { ...REFUSED, verdict: "allowed", reason: undefined, rule: "example.com" };

it("writes one line for each call, in order, and the chain verifies", async () => {
  await using home = await openAuditHome();
  const log = home.open({ now: () => new Date(0) });
  for (const tool of ["a", "b", "c"]) log.record({ ...CALL, tool });
  await log.close();
  const entries = await home.entries();
  expect(entries.map(({ sequence, fields }) => [sequence, fields["tool"]])).toEqual([
    [2, "a"],
    [3, "b"],
    [4, "c"],
  ]);
  expect(entries[0]?.fields).toMatchObject({
    kind: "call",
    at: "1970-01-01T00:00:00.000Z",
    principal: "local",
    outcome: "ok",
    resultBytes: 2,
    durationMs: 1.235,
    arguments: '{"a":1}',
  });
  expect(await home.verify()).toMatchObject({ isIntact: true, segments: [{ lines: 4 }] });
});

it("chains connections and calls together", async () => {
  await using home = await openAuditHome();
  const log = home.open();
  log.record(CALL);
  log.recordConnection(REFUSED);
  await log.close();
  const [call, connection] = await home.entries();
  expect(call).toMatchObject({ sequence: 2, kind: "call" });
  expect(connection).toMatchObject({ sequence: 3, kind: "connection", fields: { host: "example.com", verdict: "refused" } });
  expect(await home.verify()).toMatchObject({ isIntact: true });
});

it("gives each process its own file, which only this user can read", async () => {
  await using home = await openAuditHome();
  for (let count = 0; count < 2; count += 1) {
    await using log = home.open();
    log.record(CALL);
  }
  const [file = "", ...others] = await home.files();
  expect(others).toHaveLength(1);
  const modes = [join(home.segments, file), join(home.index, "key.json"), home.segments, home.index].map(
    async (path) => (await stat(path)).mode,
  );
  expect((await Promise.all(modes)).map((mode) => mode & 0o777)).toEqual([0o600, 0o600, 0o700, 0o700]);
});

it("creates no file before the first call", async () => {
  await using home = await openAuditHome();
  await home.open().close();
  await expect(readdir(home.segments)).rejects.toMatchObject({ code: "ENOENT" });
});

it("begins another segment if somebody removes its own", async () => {
  await using home = await openAuditHome();
  await using log = home.open();
  log.record(CALL);
  await log.close();
  log.record(CALL);
  await log.close();
  expect(await home.files()).toHaveLength(2);
  let ms = 0;
  const writing = home.open({ now: () => new Date(ms) });
  writing.record({ ...CALL, tool: "a" });
  await expect.poll(() => home.files().then(({ length }) => length), { timeout: 25_000 }).toBe(3);
  await expect.poll(() => home.entries().then(({ length }) => length), { timeout: 25_000 }).toBe(3);
  await rm(join(home.segments, (await home.files())[0] ?? ""));
  ms = 1_000;
  writing.record({ ...CALL, tool: "b" });
  await writing.close();
  expect((await home.entries()).map(({ fields }) => fields["tool"])).toEqual(["b", "echo", "echo"]);
});

it("refuses new calls while the disk refuses lines, and writes all lines afterwards", async () => {
  await using home = await openAuditHome();
  await writeFile(home.segments, "not a folder");
  const log = home.open();
  log.record(CALL);
  await expect(log.close()).rejects.toMatchObject({ code: "AUDIT_FAILED" });
  expect(() => log.assertWritable()).toThrowError(expect.objectContaining({ code: "AUDIT_FAILED" }));
  // The refusal has started another try. It must end before the disk accepts lines again.
  await expect(log.close()).rejects.toMatchObject({ code: "AUDIT_FAILED" });
  await rm(home.segments);
  log.record(CALL);
  await log.close();
  expect(() => log.assertWritable()).not.toThrow();
  expect(await home.entries()).toHaveLength(2);
  expect(await home.verify()).toMatchObject({ isIntact: true });
});

it("holds a bounded number of lines while the disk refuses them, and counts all others", async () => {
  await using home = await openAuditHome();
  await writeFile(home.segments, "not a folder");
  const log = home.open();
  const sent = 25_000;
  for (let count = 0; count < sent; count += 1) log.record({ ...CALL, principal: `p${count}` });
  await expect(log.close()).rejects.toThrow("the last 10000 lines");
  await rm(home.segments);
  await log.close();
  const entries = await home.entries();
  expect(entries.length).toBeLessThan(11_100);
  expect(entries.reduce((sum, { fields }) => sum + Number(fields["count"] ?? 1), 0)).toBe(sent);
  expect(await home.verify()).toMatchObject({ isIntact: true });
}, 60_000);

async function untilOneIsWritten(home: AuditTestHome): Promise<void> {
  const count = (): Promise<number> =>
    home.entries().then(
      ({ length }) => length,
      () => 0,
    );
  await expect.poll(count, { timeout: 25_000 }).toBe(1);
}

it("writes counts at once when the process exits", async () => {
  await using home = await openAuditHome();
  await using log = home.open();
  log.recordConnection(REFUSED);
  await untilOneIsWritten(home);
  for (let count = 0; count < 9; count += 1) log.recordConnection(REFUSED);
  log.flushAtExit();
  expect((await home.entries()).map(({ fields }) => fields["count"])).toEqual([undefined, 9]);
  expect(await home.verify()).toMatchObject({ isIntact: true });
});

it("begins another segment for lines that come while it closes", async () => {
  await using home = await openAuditHome();
  const log = home.open();
  log.record(CALL);
  await untilOneIsWritten(home);
  const closed = log.close();
  for (let turn = 0; turn < 20; turn += 1) {
    log.record(CALL);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await closed;
  await log.close();
  expect(await home.entries()).toHaveLength(21);
  expect(await home.verify()).toMatchObject({ isIntact: true });
});

it("writes a repeated refusal once, and then its count", async () => {
  await using home = await openAuditHome();
  const log = home.open({ now: clock() });
  for (let count = 0; count < 1_000; count += 1) log.recordConnection({ ...REFUSED, sentBytes: 2 });
  log.recordConnection({ ...REFUSED, host: "other.example" });
  log.recordConnection({ ...REFUSED, reason: "private-address" });
  log.recordConnection(OWNED);
  log.recordConnection(OWNED);
  await log.close();
  const fields = (await home.entries()).map((entry) => entry.fields);
  expect(fields.map(({ host, reason, count }) => [host, reason, count])).toEqual([
    ["example.com", "no-rule", undefined],
    ["other.example", "no-rule", undefined],
    ["example.com", "private-address", undefined],
    ["example.com", undefined, undefined],
    ["example.com", undefined, undefined],
    ["example.com", "no-rule", 999],
  ]);
  expect(fields.at(-1)).toMatchObject({ sandbox: "s", owner: "local", port: 443, sentBytes: 1_998 });
  expect(String(fields.at(-1)?.["first"]) < String(fields.at(-1)?.["last"])).toBe(true);
});

it("holds a sandbox to its budget, and counts the lines beyond it", async () => {
  await using home = await openAuditHome();
  const log = home.open({ sandboxBytesPerHour: 16_384, now: clock() });
  const sent = 20_000;
  for (let count = 0; count < sent; count += 1) log.recordConnection({ ...REFUSED, host: `${count}.example`, sentBytes: 1 });
  log.recordConnection({ ...REFUSED, sandbox: "other" });
  await log.close();
  const entries = await home.entries();
  const listed = entries.filter(({ kind, fields }) => kind === "connection" && fields["sandbox"] === "s");
  const summaries = entries.filter(({ kind }) => kind === "summary");
  expect(listed.length).toBeLessThan(100);
  expect(summaries.length).toBeLessThan(30);
  expect(summaries[0]?.fields).toMatchObject({ of: "connection", sandbox: "s", owner: "local", outcome: "no-rule" });
  expect(summaries.reduce((sum, { fields }) => sum + Number(fields["count"]), listed.length)).toBe(sent);
  expect(summaries.reduce((sum, { fields }) => sum + Number(fields["sentBytes"]), listed.length)).toBe(sent);
  expect(entries.filter(({ fields }) => fields["sandbox"] === "other")).toHaveLength(1);
});

it("holds an owner's connections to their budget, without using the budget of its calls", async () => {
  await using home = await openAuditHome();
  const log = home.open({ ownerBytesPerHour: 16_384, now: clock() });
  for (let count = 0; count < 1_000; count += 1) log.recordConnection({ ...OWNED, sandbox: `s${count}` });
  for (let count = 0; count < 1_000; count += 1) log.record({ ...CALL, tool: "flood" });
  log.record({ ...CALL, principal: "other" });
  await log.close();
  const entries = await home.entries();
  const calls = entries.filter(({ fields }) => fields["tool"] === "flood");
  expect(calls.length).toBeGreaterThan(20);
  expect(calls.length).toBeLessThan(60);
  const counted = entries.filter(({ fields }) => fields["kind"] === "summary" && fields["of"] === "call");
  expect(counted.map(({ fields }) => [fields["owner"], fields["outcome"], fields["count"]])).toEqual([
    ["local", "ok", 1_000 - calls.length],
  ]);
  expect(entries.filter(({ fields }) => fields["principal"] === "other")).toHaveLength(1);
});

/** A clock that advances a little with each reading. */
function clock(): () => Date {
  let ms = Date.parse("2026-01-01T00:00:00Z");
  return () => new Date((ms += 0.01));
}

it("keeps the values of secrets out of the preview, at any depth", () => {
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

it("distinguishes two arguments with the same beginning by their digest", () => {
  const long = "x".repeat(10_000);
  expect(summarise({ code: `${long}a` }).digest).not.toBe(summarise({ code: `${long}b` }).digest);
});
