import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { type Answers, openPeer } from "../../../test/support/answering-peer.ts";
import { runFolder, runOf } from "../../../test/support/run-of.ts";
import { BelljarError } from "../../errors.ts";
import { encodeFields, type Field } from "../../protocol/fields.ts";
import { encodeFrame } from "../../protocol/frames.ts";
import { DEADLINE_ACTION, FRAME, GUEST_ERROR } from "../../protocol/wire.ts";
import type { SandboxEnd } from "../contract/run.ts";
import type { ClearRequest } from "./jail-spec.ts";
import { NamespaceSandbox } from "./running-sandbox.ts";

const ID = "a1b2c3d4e5f6g7h8i9j0";
const AT = new Date(1_800_000_000_000);
const CLEARED: SandboxEnd = { reason: "keeper_lost", at: AT };
const RUNNING: readonly Field[] = [
  ["PHASE", 1],
  ["ACTION", DEADLINE_ACTION.STOP],
  ["MEMORY", 1],
  ["MEMORY_PEAK", 2],
  ["CPU_US", 3],
  ["PROCESSES_COUNT", 4],
  ["OOM_KILLS", 5],
];
const PAUSED = RUNNING.with(0, ["PHASE", 2]);
const GUEST_USAGE: readonly Field[] = [
  ["MEMORY", 100],
  ["CPU_US", 0],
  ["PROCESSES_COUNT", 200],
  ["DISK_USED", 0],
  ["DISK_TOTAL", 0],
  ["UPTIME_MS", 0],
];

const reply = (fields: readonly Field[] = []) => encodeFrame(FRAME.REPLY, 0, encodeFields(fields));
const refuse = (code: number) => encodeFrame(FRAME.ERROR, 0, Buffer.from([0, code, 0, 0]));
const withCode = (code: string) => expect.objectContaining({ code }) as Error;

interface Setting {
  readonly generation?: number;
  readonly isUp?: boolean;
  readonly countsUsage?: boolean;
  /** Undefined: nobody listens on the keeper's socket. */
  readonly keeper?: Answers;
  readonly guest?: Answers;
  readonly clear?: () => Promise<SandboxEnd | undefined>;
}

/** A run on disk, whose keeper and guest are of this test. */
async function openRun(setting: Setting) {
  const folder = mkdtempSync(join(tmpdir(), "bj-live-"));
  const run = runOf(ID, folder, setting.generation);
  const end = (text: string): void => writeFileSync(join(runFolder(folder, run.generation), "end.json"), text);
  mkdirSync(runFolder(folder, run.generation), { recursive: true });
  const open = (name: string, answers?: Answers) => answers && openPeer(join(folder, name), answers);
  const [keeper, guest] = [await open("keeper", setting.keeper), await open("guest", setting.guest)];
  const cleared: ClearRequest[] = [];
  const clear = setting.clear ?? (async () => CLEARED);
  const { isUp = true, countsUsage = true } = setting;
  const sandbox = new NamespaceSandbox({
    run,
    sockets: folder,
    countsUsage,
    isUp,
    clear: (request) => (cleared.push(request), clear()),
  });
  return {
    sandbox,
    cleared,
    path: (name: string) => join(folder, name),
    asked: () => keeper?.asked.map(({ operation }) => operation) ?? [],
    guestAsked: () => guest?.asked.length ?? 0,
    keeper: keeper ?? (await openPeer(join(folder, "unused"), {})),
    /** The keeper, or `clear`, has written the end. */
    end: (reason: string, kept = false) => end(JSON.stringify({ reason, at: AT.getTime(), ...(kept && { kept }) })),
    /** Somebody else has cleared and forgotten the run. */
    forget: () => rmSync(join(folder, "runs"), { recursive: true }),
    async [Symbol.asyncDispose]() {
      await sandbox.release();
      await keeper?.close();
      await guest?.close();
      rmSync(folder, { recursive: true });
    },
  };
}

/** Fails if it has settled when all that is due was done. */
async function expectUnsettled(ended: Promise<SandboxEnd>): Promise<void> {
  expect(await Promise.race([ended, new Promise((resolve) => setImmediate(resolve, "lives"))])).toBe("lives");
}

it("has the facts of its run", async () => {
  await using run = await openRun({ generation: 3, keeper: {} });
  expect(run.sandbox).toMatchObject({ id: ID, generation: 3, env: {} });
});

it("passes a deadline with its action, a pause and a resume to the keeper", async () => {
  const done = (): Buffer => reply();
  await using run = await openRun({ isUp: false, keeper: { KEEPER_EXTEND: done, KEEPER_PAUSE: done, KEEPER_RESUME: done } });
  await run.sandbox.extend(AT, "stop");
  await run.sandbox.pause();
  await run.sandbox.resume();
  expect(run.asked()).toEqual(["KEEPER_EXTEND", "KEEPER_PAUSE", "KEEPER_RESUME"]);
  const fields = run.keeper.asked[0]?.fields;
  expect([fields?.number("DEADLINE_MS"), fields?.number("ACTION")]).toEqual([AT.getTime(), DEADLINE_ACTION.STOP]);
});

describe("a kill", () => {
  it("names the reason, and tells the end that the keeper wrote", async () => {
    const keeper: Answers = { KEEPER_KILL: () => (run.end("deadline"), reply()) };
    await using run = await openRun({ keeper });
    expect(await run.sandbox.kill("create_failed")).toEqual({ reason: "deadline", at: AT });
    expect(await run.sandbox.ended).toEqual({ reason: "deadline", at: AT });
    expect(run.keeper.asked[0]?.fields.text("REASON")).toBe("create_failed");
    expect(run.cleared).toEqual([]);
  });

  it("by disposal is a kill like any other", async () => {
    const keeper: Answers = { KEEPER_KILL: () => (run.end("killed"), reply()) };
    await using run = await openRun({ keeper });
    await run.sandbox[Symbol.asyncDispose]();
    expect(run.keeper.asked[0]?.fields.text("REASON")).toBe("killed");
    expect(await run.sandbox.ended).toMatchObject({ reason: "killed" });
  });

  it.each([
    ["gone, if it has answered before", { isUp: true }, "gone"],
    ["unknown, if it has never answered", { isUp: false }, "unknown"],
    ["silent, if it refuses", { keeper: { KEEPER_KILL: () => refuse(GUEST_ERROR.IO) } }, "silent"],
  ] as const)("clears what a keeper has left that is %s", async (_, setting, keeper) => {
    await using run = await openRun(setting);
    expect(await run.sandbox.kill("killed")).toEqual(CLEARED);
    expect(await run.sandbox.ended).toEqual(CLEARED);
    expect(run.cleared).toEqual([{ keeper, removesLayers: true }]);
  });

  it("clears nothing if the end is there already", async () => {
    await using run = await openRun({});
    run.end("out_of_memory");
    expect(await run.sandbox.kill("killed")).toEqual({ reason: "out_of_memory", at: AT });
    expect(run.cleared).toEqual([]);
  });

  it("rejects while the sandbox may live, and can be tried again", async () => {
    let ends: readonly (SandboxEnd | undefined)[] = [undefined, CLEARED];
    const clear = async (): Promise<SandboxEnd | undefined> => {
      const [end, ...others] = ends;
      ends = others;
      return end;
    };
    await using run = await openRun({ clear });
    await expect(run.sandbox.kill("killed")).rejects.toThrow(withCode("RUNTIME_FAILED"));
    await expectUnsettled(run.sandbox.ended);
    expect(await run.sandbox.kill("killed")).toEqual(CLEARED);
  });

  it("tells why a run could not be cleared, and is one though somebody else has removed the folder", async () => {
    const clear = (): Promise<never> => Promise.reject(new BelljarError("RUNTIME_FAILED", "busy"));
    await using run = await openRun({ clear });
    await expect(run.sandbox.kill("killed")).rejects.toThrow("busy");
    await expectUnsettled(run.sandbox.ended);
    run.forget();
    expect(await run.sandbox.kill("killed")).toMatchObject({ reason: "killed" });
  });
});

describe("a stop", () => {
  it("asks the keeper, and tells the end that it wrote", async () => {
    const keeper: Answers = { KEEPER_STOP: () => (run.end("stopped", true), reply()) };
    await using run = await openRun({ isUp: false, keeper });
    expect(await run.sandbox.stop()).toEqual({ reason: "stopped", at: AT, kept: true });
    expect(await run.sandbox.ended).toMatchObject({ kept: true });
    expect(run.asked()).toEqual(["KEEPER_STOP"]);
  });

  it("of a run that has ended tells that end, and asks nobody", async () => {
    await using run = await openRun({ isUp: false, keeper: {} });
    run.end("deadline");
    expect(await run.sandbox.stop()).toEqual({ reason: "deadline", at: AT });
    expect(run.asked()).toEqual([]);
  });

  it("that meets a kill tells the kill", async () => {
    const keeper: Answers = { KEEPER_STOP: () => (run.end("killed"), refuse(GUEST_ERROR.IO)) };
    await using run = await openRun({ isUp: false, keeper });
    expect(await run.sandbox.stop()).toEqual({ reason: "killed", at: AT });
  });

  it("that is refused rejects with the reason, and the run lives on", async () => {
    await using run = await openRun({ isUp: false, keeper: { KEEPER_STOP: () => refuse(GUEST_ERROR.NOT_SUPPORTED) } });
    await expect(run.sandbox.stop()).rejects.toThrow(withCode("NOT_SUPPORTED"));
    await expectUnsettled(run.sandbox.ended);
    expect(run.cleared).toEqual([]);
  });

  it("without a written end is none", async () => {
    await using run = await openRun({ isUp: false, keeper: { KEEPER_STOP: () => reply() } });
    await expect(run.sandbox.stop()).rejects.toThrow(withCode("RUNTIME_FAILED"));
  });
});

describe("the usage", () => {
  const guest: Answers = { USAGE: () => reply(GUEST_USAGE) };

  it("is the keeper's alone if it counts the tree", async () => {
    await using run = await openRun({ isUp: false, keeper: { KEEPER_STATUS: () => reply(RUNNING) }, guest });
    const keepers = { phase: "running", memoryBytes: 1, processes: 4, oomKills: 5, deadlineAction: "stop" };
    expect(await run.sandbox.usage()).toMatchObject(keepers);
    expect(run.guestAsked()).toBe(0);
  });

  it("has the guest's memory and processes if the keeper counts none", async () => {
    const keeper: Answers = { KEEPER_STATUS: () => reply(RUNNING) };
    await using run = await openRun({ isUp: false, countsUsage: false, keeper, guest });
    const usage = await run.sandbox.usage();
    expect(usage).toMatchObject({ memoryBytes: 100, memoryPeakBytes: 2, cpuUs: 3, processes: 200 });
    expect(usage.oomKills).toBeUndefined();
  });

  it("asks no guest that is paused, and does without one that fails", async () => {
    await using paused = await openRun({ isUp: false, countsUsage: false, keeper: { KEEPER_STATUS: () => reply(PAUSED) }, guest });
    expect(await paused.sandbox.usage()).toMatchObject({ phase: "paused", memoryBytes: 1, processes: 4 });
    expect(paused.guestAsked()).toBe(0);
    await using alone = await openRun({ isUp: false, countsUsage: false, keeper: { KEEPER_STATUS: () => reply(RUNNING) } });
    expect(await alone.sandbox.usage()).toMatchObject({ phase: "running", memoryBytes: 1, processes: 4 });
  });
});

describe("a watch", () => {
  const tells = (reason: string): Answers => ({ KEEPER_WAIT: () => reply([["REASON", reason]]) });

  it("tells the end that the keeper wrote, and what it says if nothing was written", async () => {
    await using written = await openRun({ keeper: { KEEPER_WAIT: () => (written.end("deadline", true), reply([["REASON", "killed"]])) } });
    expect(await written.sandbox.ended).toEqual({ reason: "deadline", at: AT, kept: true });
    await using first = await openRun({ keeper: tells("exited") });
    expect(await first.sandbox.ended).toEqual({ reason: "exited", at: expect.any(Date) as Date });
  });

  it("keeps the files of a later run whose end nobody could write", async () => {
    await using run = await openRun({ generation: 2, keeper: tells("exited") });
    expect(await run.sandbox.ended).toMatchObject({ reason: "exited", kept: true });
  });

  it("clears the run of a keeper that is gone, and leaves its layers", async () => {
    await using run = await openRun({ keeper: {} });
    await run.keeper.heard("KEEPER_WAIT");
    await run.keeper.close();
    expect(await run.sandbox.ended).toEqual(CLEARED);
    expect(run.cleared).toEqual([{ keeper: "gone", removesLayers: false }]);
  });

  it("begins with the first answer of a keeper that nobody has heard of yet", async () => {
    await using run = await openRun({ isUp: false, keeper: { KEEPER_STATUS: () => reply(RUNNING), ...tells("exited") } });
    await run.sandbox.usage();
    expect(await run.sandbox.ended).toMatchObject({ reason: "exited" });
    expect(run.asked()).toEqual(["KEEPER_STATUS", "KEEPER_WAIT"]);
  });

  it("is over with a release", async () => {
    await using run = await openRun({ keeper: {} });
    await run.keeper.heard("KEEPER_WAIT");
    await run.sandbox.release();
    await run.keeper.close();
    await expectUnsettled(run.sandbox.ended);
    expect(run.cleared).toEqual([]);
  });

  it("of a keeper that has too many is tried again five seconds later, and nothing is cleared", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      let watches = 0;
      const keeper: Answers = {
        KEEPER_WAIT: () => ((watches += 1), watches === 1 ? refuse(GUEST_ERROR.TOO_MANY) : reply([["REASON", "exited"]])),
      };
      await using run = await openRun({ keeper });
      await vi.advanceTimersByTimeAsync(20);
      await run.keeper.hungUp;
      await vi.advanceTimersByTimeAsync(5_000);
      expect(await run.sandbox.ended).toMatchObject({ reason: "exited" });
      expect(run.cleared).toEqual([]);
    } finally {
      vi.useRealTimers();
    }
  });
});

it("is watched again five seconds after a kill that failed", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const keeper: Answers = { KEEPER_KILL: () => refuse(GUEST_ERROR.IO), KEEPER_WAIT: () => reply([["REASON", "exited"]]) };
    await using run = await openRun({ keeper, clear: async () => undefined });
    await expect(run.sandbox.kill("killed")).rejects.toThrow(withCode("RUNTIME_FAILED"));
    await vi.advanceTimersByTimeAsync(4_999);
    expect(run.asked()).toEqual(["KEEPER_KILL"]);
    await vi.advanceTimersByTimeAsync(1);
    expect(await run.sandbox.ended).toMatchObject({ reason: "exited" });
  } finally {
    vi.useRealTimers();
  }
});

it("says that a sandbox is paused whose guest has the paused name", async () => {
  await using run = await openRun({ isUp: false, keeper: {} });
  writeFileSync(run.path("paused"), "");
  await expect(run.sandbox.connect(new AbortController().signal)).rejects.toThrow(withCode("SANDBOX_PAUSED"));
});
