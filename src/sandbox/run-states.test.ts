import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { sandboxRecord } from "../../test/support/sandbox-record.ts";
import { CREATOR } from "./creator.ts";
import type { RunState } from "./run-states.ts";
import { firstRun, mayBeKept, mayBeStarting, nextRun, RunStates, stopOf, withStop } from "./run-states.ts";

const ID = "a1b2c3d4e5f6g7h8i9j0";
const RECORD = sandboxRecord({ id: ID, createdAt: new Date(5), creator: { pid: 1, startedMs: 2 } });
const FIRST: RunState = { phase: "running", generation: 1, startedAt: new Date(5), creator: { pid: 1, startedMs: 2 }, action: "kill" };
const END = { reason: "deadline", at: new Date(9) } as const;

let folder: string;
let announced: string[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "belljar-states-"));
  announced = [];
});
afterEach(() => rmSync(folder, { recursive: true }));

const open = () => new RunStates({ folder: () => folder, announce: (id) => void announced.push(id), flushRecord: async () => undefined });

describe("the state of a sandbox", () => {
  it("is that of its first run until it changes, and nothing is written", async () => {
    expect([await open().read(RECORD), await open().find(ID)]).toEqual([FIRST, undefined]);
    expect(await open().change(RECORD, () => undefined)).toBeUndefined();
    expect([readdirSync(folder), announced]).toEqual([[], []]);
  });

  it("is read by others as it was changed, and announced", async () => {
    const stopped = withStop(FIRST, { reason: "stopped", at: new Date(7) });
    expect(await open().change(RECORD, () => stopped)).toEqual({
      ...FIRST,
      phase: "stopped",
      stopped: { reason: "stopped", at: new Date(7) },
    });
    expect([await open().read(RECORD), await open().find(ID)]).toEqual([stopped, stopped]);
    expect(announced).toEqual([ID]);
    await open().change(RECORD, (now) => ({ ...now, phase: "deleted" }));
    expect((await open().read(RECORD)).phase).toBe("deleted");
  });

  it("stops everything if it is damaged", async () => {
    await open().change(RECORD, (now) => ({ ...now, action: "stop" }));
    const [name = ""] = readdirSync(folder);
    for (const text of ["{", '{"version":2}', JSON.stringify({ version: 1, ...FIRST, generation: 0 })]) {
      writeFileSync(join(folder, name), text);
      await expect(open().read(RECORD)).rejects.toThrow(expect.objectContaining({ code: "FILE_IO" }));
    }
  });

  it("names the run that it speaks of", () => {
    expect(open().runOf(RECORD, { generation: 3 })).toEqual({ id: ID, generation: 3, folder, inside: RECORD.inside });
  });
});

describe("a run", () => {
  it("is the next one after a stop, made by this process, with the same action", () => {
    const stopped: RunState = { ...FIRST, phase: "stopped", action: "pause", stopped: END };
    const next = nextRun(stopped);
    expect(next).toMatchObject({ phase: "running", generation: 2, creator: CREATOR, action: "pause" });
    expect(next).not.toHaveProperty("stopped");
    expect(next.startedAt.getTime()).toBeGreaterThan(FIRST.startedAt.getTime());
  });

  it("is stopped once", () => {
    const stopped = withStop(FIRST, END);
    expect(stopped).toMatchObject({ phase: "stopped", stopped: END });
    for (const phase of ["stopped", "deleted"] as const) expect(withStop({ ...FIRST, phase }, END)).toBeUndefined();
    expect(stopOf({ ...FIRST, stopped: END })).toEqual({ ...END, kept: true });
    expect(stopOf(FIRST)).toEqual({ reason: "stopped", at: FIRST.startedAt, kept: true });
  });

  it("keeps the files after an end that nobody asked for, unless its deadline would kill it", () => {
    const kept = (action: RunState["action"], reason: "host_lost" | "killed"): boolean =>
      mayBeKept({ ...FIRST, action }, { reason, at: new Date(0) });
    expect([kept("kill", "host_lost"), kept("stop", "host_lost"), kept("pause", "host_lost")]).toEqual([false, true, true]);
    expect([kept("stop", "killed"), kept("pause", "killed")]).toEqual([false, false]);
  });

  it("may be starting while it is young and its starter lives", () => {
    const young: RunState = { ...FIRST, startedAt: new Date(), creator: CREATOR };
    expect(mayBeStarting(young)).toBe(true);
    expect(mayBeStarting(nextRun({ ...FIRST, phase: "stopped" }))).toBe(true);
    expect(mayBeStarting({ ...young, phase: "stopped" })).toBe(false);
    expect(mayBeStarting({ ...young, startedAt: new Date(Date.now() - 60_000) })).toBe(false);
    expect(mayBeStarting({ ...young, creator: { ...CREATOR, startedMs: 1 } })).toBe(false);
    expect(firstRun(RECORD)).toEqual(FIRST);
  });
});
