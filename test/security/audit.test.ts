import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFile, cp, readdir, readFile, readlink, rename, stat, symlink, unlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { createSigner, FIRST_MAC } from "../../src/audit/audit-chain.ts";
import { toLine } from "../../src/audit/audit-line.ts";
import { toEntryText, toMarkText } from "../../src/audit/index-state.ts";
import type { AuditTestHome } from "../support/audit-home.ts";
import { CALL, openAuditHome, REFUSED } from "../support/audit-home.ts";
import { verifies } from "./verifies.ts";

/** Two processes have written: one closed segment, and three that follow each other by their size. */
async function openWrittenHome(): Promise<AuditTestHome> {
  const home = await openAuditHome();
  const [one, other] = [home.open(), home.open({ keep: { ageMs: 86_400_000, bytes: 1_048_576 } })];
  for (const tool of ["a", "b", "c"]) one.record({ ...CALL, tool });
  await one.close();
  for (let batch = 0; batch < 3; batch += 1) {
    for (let count = 0; count < 400; count += 1) other.record({ ...CALL, tool: `${batch}.${count}` });
    await written(home, `${batch}.399`);
  }
  await other.close();
  expect(await home.verify()).toMatchObject({ isIntact: true });
  expect(await home.files()).toHaveLength(4);
  return home;
}

/** Lines of one tick are one append, and a segment is looked at between appends. */
async function written(home: AuditTestHome, tool: string): Promise<void> {
  await expect.poll(async () => (await home.entries()).some(({ fields }) => fields["tool"] === tool), { timeout: 30_000 }).toBe(true);
}

const OTHER_SIGNER = createSigner({ id: "other", bytes: Buffer.alloc(32) });

/** Every line anew, each with a MAC of another key, without the one of the second call. */
function signAnew(text: string): string {
  let mac = FIRST_MAC;
  const heads = without(text, 2)
    .trimEnd()
    .split("\n")
    .map((line, at) => line.slice(0, -74).replace(/^\{"sequence":\d+/, `{"sequence":${at + 1}`));
  return heads.map((head) => toLine(head, (mac = OTHER_SIGNER.line(mac, head)))).join("");
}

/** With an index that fits such a segment. */
async function indexAnew(home: AuditTestHome, [file = ""]: readonly string[]): Promise<void> {
  const segment = signAnew(await readFile(join(home.segments, file), "latin1"));
  const mark = { sequence: segment.split("\n").length - 1, lineMac: segment.slice(-67, -3), state: "closed" } as const;
  await writeFile(join(home.segments, file), segment, "latin1");
  for (const name of ["1", "1.mark"]) await unlink(join(home.index, name));
  await symlink(toEntryText(OTHER_SIGNER.index, 1, { file, previous: FIRST_MAC }), join(home.index, "1"));
  await symlink(toMarkText(OTHER_SIGNER.index, 1, mark), join(home.index, "1.mark"));
}

type Attack = (home: AuditTestHome, files: readonly string[]) => Promise<void>;

/** By somebody who may write everything below the audit's folder. */
const IN_THE_FOLDER: Readonly<Record<string, Attack>> = {
  "a word is changed": (home) => home.edit((text) => text.replace('"tool":"b"', '"tool":"x"')),
  "the last line is changed": (home) => home.edit((text) => text.replace('"tool":"c"', '"tool":"x"')),
  "a line is taken out": (home) => home.edit((text) => without(text, 2)),
  "two lines are swapped": (home) => home.edit((text) => lines(text, (all) => all.with(1, all[2] ?? "").with(2, all[1] ?? ""))),
  "a line is repeated": (home) => home.edit((text) => lines(text, (all) => all.toSpliced(2, 0, all[1] ?? ""))),
  "the last line is cut off": (home) => home.edit((text) => without(text, -1)),
  "the last bytes are cut off": (home) => home.edit((text) => text.slice(0, -5)),
  "all but the first line is cut off": (home) => home.edit((text) => lines(text, (all) => all.slice(0, 1))),
  "a segment is emptied": (home) => home.edit(() => ""),
  "a line is added": (home) => home.edit((text) => `${text}${text.split("\n")[1]}\n`),
  "a line without a right MAC is added": (home) => home.edit((text) => `${text}${forge(text)}\n`),
  "bytes are added": (home) => home.edit((text) => `${text}{"sequence":5`),
  "a NUL is added": (home) => home.edit((text) => `${text}\0\n`),
  "a segment is signed anew with another key": (home) => home.edit(signAnew),
  "a segment is removed": async ({ segments }, [first = ""]) => unlink(join(segments, first)),
  "the segment in the middle is removed": async ({ segments }, files) => unlink(join(segments, files[2] ?? "")),
  "the newest segment is removed": async ({ segments }, files) => unlink(join(segments, files.at(-1) ?? "")),
  "all segments are removed": async ({ segments }, files) => void (await Promise.all(files.map((file) => unlink(join(segments, file))))),
  "a segment is copied": ({ segments }, [first = ""]) => copyFile(join(segments, first), join(segments, renamed(first))),
  "a segment is renamed": ({ segments }, [first = ""]) => rename(join(segments, first), join(segments, renamed(first))),
  "a segment takes the place of another": ({ segments }, files) => copyFile(join(segments, files[0] ?? ""), join(segments, files[1] ?? "")),
  "a segment with a chain of its own is added": ({ segments }, [first = ""]) =>
    writeFile(join(segments, renamed(first)), forgedSegment(renamed(first))),
};

/** By somebody who may write the whole home but does not have the key, as when it lies in the keyring. */
const IN_THE_HOME: Readonly<Record<string, Attack>> = {
  "a segment and its entry are removed": async ({ segments, index }, files) => {
    await unlink(join(segments, files[1] ?? ""));
    for (const name of ["2", "2.mark"]) await unlink(join(index, name));
  },
  "a segment is said to have been removed": async ({ segments, index }, files) => {
    await unlink(join(segments, files[1] ?? ""));
    await symlink(`1700000000000 age ${"0".repeat(64)}`, join(index, "2.removed"));
  },
  "the oldest are said to have been removed": async ({ segments, index }, files) => {
    for (const file of files.slice(0, 2)) await unlink(join(segments, file));
    for (const name of ["1", "1.mark", "2", "2.mark"]) await unlink(join(index, name));
    await symlink(`${(await readlink(join(index, "3"))).slice(-64)} 1700000000000 ${"0".repeat(64)}`, join(index, "base-2"));
  },
  "a mark is removed and the end cut off": async (home) => {
    await unlink(join(home.index, "1.mark"));
    await home.edit((text) => without(text, -1));
  },
  "a mark is taken from another segment": async ({ index, segments }, files) => {
    const other = await readlink(join(index, "2.mark"));
    await unlink(join(index, "1.mark"));
    await symlink(other, join(index, "1.mark"));
    await copyFile(join(segments, files[1] ?? ""), join(segments, files[0] ?? ""));
  },
  "two entries are swapped": async ({ index }) => {
    await rename(join(index, "1"), join(index, "x"));
    await rename(join(index, "2"), join(index, "1"));
    await rename(join(index, "x"), join(index, "2"));
  },
  "a segment is added with an entry": async ({ index, segments }, [first = ""]) => {
    await writeFile(join(segments, renamed(first)), forgedSegment(renamed(first)));
    await symlink(`${renamed(first)} ${"0".repeat(64)}`, join(index, "5"));
  },
  "a segment and its entry are signed anew with another key": indexAnew,
  "the key is another one": async ({ index }) => {
    const key = JSON.stringify({ version: 1, id: "x", key: Buffer.alloc(32).toString("base64") });
    await writeFile(join(index, "key.json"), key);
  },
};

function lines(text: string, change: (all: readonly string[]) => readonly string[]): string {
  return change(text.trimEnd().split("\n"))
    .map((line) => `${line}\n`)
    .join("");
}

function without(text: string, line: number): string {
  return lines(text, (all) => all.toSpliced(line, 1));
}

function renamed(file: string): string {
  return file.replace(/-[0-9a-f]{12}-/, "-000000000000-");
}

/** What whoever has no key can make: a chain that is right for everybody who checks it without one. */
function chainWithoutKey(heads: readonly string[]): readonly string[] {
  let previous = "0".repeat(64);
  return heads.map((head) => {
    previous = createHash("sha256").update(previous).update(head).digest("hex");
    return `${head},"mac":"${previous}"}`;
  });
}

function fitsWithoutKey(all: readonly string[]): boolean {
  return chainWithoutKey(all.map((line) => line.slice(0, -74))).every((line, at) => line === all[at]);
}

function forge(text: string): string {
  return chainWithoutKey([`{"sequence":${text.split("\n").length},"at":"2026-01-01T00:00:00.000Z","kind":"call"`])[0] ?? "";
}

function forgedSegment(file: string): string {
  const head = `"at":"2026-01-01T00:00:00.000Z"`;
  const begun = `{"sequence":1,${head},"kind":"segment","file":"${file}","previous":"${"0".repeat(64)}"`;
  const forged = chainWithoutKey([begun, `{"sequence":2,${head},"kind":"call"`]);
  expect(fitsWithoutKey(forged), "a chain without a key passes its own check").toBe(true);
  return lines(forged.join("\n"), (all) => all);
}

verifies("audit-tamper-evident", async () => {
  const passed: string[] = [];
  await using home = await openWrittenHome();
  for (const [what, attack] of Object.entries({ ...IN_THE_FOLDER, ...IN_THE_HOME })) {
    await using copy = await openAuditHome();
    await cp(home.home, copy.home, { recursive: true, verbatimSymlinks: true });
    await attack(copy, await copy.files());
    if ((await copy.verify()).isIntact) passed.push(what);
  }
  expect(passed).toEqual([]);
  expect(await home.verify(), "what nobody touched").toMatchObject({ isIntact: true });
});

/** Each of them ends a line for one reader of lines or another, or turns what stands around it. */
const WORDS = [
  "\u2028",
  "\u2029",
  "\u0085",
  "\r",
  "\r\n",
  "\v",
  "\f",
  "\u001e",
  "\u0000",
  "\ud800",
  "\u202e",
  "\u2067",
  "\u009b31m",
  "\u001b[2J",
  "\u200b",
  "\u{e0041}",
];

/** How a program that knows nothing of such words would find what a MAC covers. */
const NAIVE = /^(\{.*),"mac":"([0-9a-f]{64})"\}$/;

verifies("audit-words-harmless", async () => {
  expect(NAIVE.test(`{"a":"\u2028","mac":"${"0".repeat(64)}"}`), "a reader of lines is led astray").toBe(false);
  await using home = await openAuditHome();
  const log = home.open();
  for (const word of WORDS) {
    log.record({ ...CALL, tool: `a${word}b`, arguments: { [`a${word}b`]: `a${word}b` } });
    log.recordConnection({
      sandbox: "s",
      owner: `a${word}b`,
      via: "dns",
      host: `a${word}b`,
      port: 53,
      verdict: "refused",
      reason: "no-rule",
    });
    log.recordRequest({ requestId: "r", principal: `a${word}b`, request: "POST /", outcome: "ok" });
  }
  await log.close();
  expect(await home.verify()).toMatchObject({ isIntact: true });
  const entries = await home.entries();
  expect(entries.filter(({ kind }) => kind === "request").map(({ fields }) => fields["principal"])).toEqual(
    WORDS.map((word) => `a${word}b`),
  );
  const [file = ""] = await readdir(home.segments);
  const text = await readFile(join(home.segments, file), "utf8");
  expect(
    text
      .trimEnd()
      .split("\n")
      .filter((line) => !NAIVE.test(line)),
  ).toEqual([]);
  expect(text).not.toMatch(/[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}]/u);
});

/** A little time passes each time that it is read. */
function clock(stepMs: number): () => Date {
  let ms = Date.parse("2026-01-01T00:00:00Z");
  return () => new Date((ms += stepMs));
}

const REFUSED_MAX = 100_000;

async function auditBytes({ segments }: AuditTestHome): Promise<number> {
  const sizes = await Promise.all((await readdir(segments)).map(async (file) => (await stat(join(segments, file))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

verifies("audit-bounded", async () => {
  await using home = await openAuditHome();
  const log = home.open({ sandboxBytesPerHour: 262_144, now: clock(0.5) });
  const host = (count: number): string => `${count}.${"x".repeat(200)}.example`;
  const naiveBytes = REFUSED_MAX * JSON.stringify({ ...REFUSED, host: host(0) }).length;
  for (let count = 0; count < REFUSED_MAX; count += 1)
    log.recordConnection({ ...REFUSED, host: count % 2 === 0 ? host(count) : "same.example" });
  await log.close();
  expect(naiveBytes, "a line for each would be much").toBeGreaterThan(25_000_000);
  expect(await auditBytes(home)).toBeLessThan(600_000);
  const counts = (await home.entries()).map(({ fields }) => Number(fields["count"] ?? 1));
  expect(
    counts.reduce((sum, count) => sum + count, 0),
    "none is left out",
  ).toBe(REFUSED_MAX);
});

/** So many lines that the audit is many times as large as it may be; each batch is an append. */
async function overflow(home: AuditTestHome, now: () => Date): Promise<void> {
  const log = home.open({ keep: { ageMs: 86_400_000, bytes: 1_048_576 }, ownerBytesPerHour: 1e9, now });
  for (let batch = 0; batch < 60; batch += 1) {
    for (let count = 0; count < 200; count += 1) log.record({ ...CALL, arguments: { text: "x".repeat(150) }, tool: `${batch}` });
    await written(home, `${batch}`);
  }
  await log.close();
}

verifies("audit-kept", async () => {
  await using home = await openAuditHome();
  await overflow(home, clock(1));
  expect(await auditBytes(home)).toBeLessThan(1_048_576);
  const checked = await home.verify();
  expect(checked).toMatchObject({ isIntact: true });
  expect(checked.removed).toBeGreaterThan(10);
  const removals = (await home.entries()).filter(({ kind }) => kind === "removed");
  expect(removals[0]?.fields).toMatchObject({ why: "size" });
  expect((await readdir(home.index)).length, "the index is bounded too").toBeLessThan(40);
  const [oldest = ""] = await home.files();
  await unlink(join(home.segments, oldest));
  expect(await home.verify(), "a removal that is none of Belljar's").toMatchObject({
    isIntact: false,
    segments: expect.arrayContaining([expect.objectContaining({ file: oldest, problem: "missing" })]),
  });
});

verifies("audit-kept", async () => {
  await using home = await openAuditHome();
  const day = 86_400_000;
  const at = (ms: number) => ({ keep: { ageMs: 3 * day, bytes: 1e9 }, now: () => new Date(Date.parse("2026-01-01T00:00:00Z") + ms) });
  for (const age of [0, 1, 2, 3]) {
    await using log = home.open(at(age * day));
    log.record({ ...CALL, tool: `${age}` });
  }
  const [first = ""] = await home.files();
  // Whoever writes the folder can make any file look old.
  for (const file of await home.files()) await utimes(join(home.segments, file), new Date(0), new Date(0));
  await using log = home.open(at(4.5 * day));
  await log.prepare();
  await log.close();
  expect(await home.files()).not.toContain(first);
  expect((await home.entries()).map(({ kind, fields }) => fields["tool"] ?? kind)).toEqual(["1", "2", "3", "removed"]);
  expect(await home.verify()).toMatchObject({ isIntact: true, removed: 1 });
});

const WRITER = join(import.meta.dirname, "../fixtures/audit-writer.mjs");

/** Killed after it has told so often that it goes on. */
async function writeUntilKilled(home: string, tells: number): Promise<void> {
  const child = spawn(process.execPath, [WRITER, home], { stdio: ["ignore", "pipe", "inherit"] });
  let told = 0;
  for await (const chunk of child.stdout) {
    told += (chunk as Buffer).length;
    if (told >= tells) child.kill("SIGKILL");
  }
}

verifies("audit-tamper-evident", async () => {
  await using home = await openAuditHome();
  for (let round = 0; round < 3; round += 1) {
    const writers = Promise.all([1, 2, 3, 4].map((tells) => writeUntilKilled(home.home, tells)));
    expect(await home.verify(), "while four processes write").toMatchObject({ isIntact: true });
    await writers;
  }
  const { isIntact, segments, removed } = await home.verify();
  expect({ isIntact, problems: segments.filter(({ problem }) => problem) }).toEqual({ isIntact: true, problems: [] });
  expect(segments.length + removed).toBeGreaterThanOrEqual(12);
  const open = segments.find((segment) => segment.isOpen && segment.lines > 1)?.file ?? "";
  await home.edit((text) => `${text}{"sequence":`, open);
  const torn = await home.verify();
  expect(torn, "a last line that is not whole is told, and no attack").toMatchObject({ isIntact: true });
  expect(torn.segments.find(({ file }) => file === open)).toMatchObject({ isTorn: true });
  const foreign = "20260101T000000000Z-000000000000-1.jsonl";
  await writeFile(join(home.segments, foreign), "a line that somebody else has begun");
  expect(
    (await home.verify()).segments.find(({ file }) => file === foreign),
    "and so is a file of nothing else",
  ).toMatchObject({
    isTorn: true,
  });
});
