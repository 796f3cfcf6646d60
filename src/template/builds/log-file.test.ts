import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { LogFile, readLog } from "./log-file.ts";

async function withLog(work: (path: string, log: LogFile) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "bj-log-"));
  try {
    const path = join(folder, "log");
    await work(path, new LogFile(path));
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function readAll(path: string): Promise<readonly string[]> {
  const parts: string[] = [];
  for (let offset = 0; ;) {
    const { text, nextOffset } = await readLog(path, offset);
    if (text === "") return parts;
    parts.push(text);
    offset = nextOffset;
  }
}

it.each(["a", "\u00fc", "\u20ac", "\u{1f600}"])("a log in parts is the whole log, with %s at each place", (sign) =>
  withLog(async (path, log) => {
    for (const before of ["", "1", "12", "123"]) log.write(before + sign.repeat(33_000));
    await log.end();
    const parts = await readAll(path);
    expect(parts.length).toBeGreaterThan(1);
    expect(parts.join("")).toBe(["", "1", "12", "123"].map((before) => before + sign.repeat(33_000)).join(""));
  }),
);

it("a log has a bound, and says so", () =>
  withLog(async (path, log) => {
    for (let count = 0; count < 100; count += 1) log.write("x".repeat(100_000));
    await log.end();
    expect((await stat(path)).size).toBeLessThanOrEqual(4_194_304);
    expect((await readAll(path)).join("")).toMatch(/x\n\[more of the log is not kept\]\n$/);
  }));

it("a log that cannot be written is empty", () =>
  withLog(async (path) => {
    const log = new LogFile(join(path, "not there"));
    log.write("text");
    await log.end();
    expect(await readAll(join(path, "not there"))).toEqual([]);
  }));
