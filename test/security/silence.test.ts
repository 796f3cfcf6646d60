import { setMaxListeners } from "node:events";
import { join } from "node:path";
import { expect } from "vitest";
import { BelljarError } from "../../src/errors.ts";
import { createGuest } from "../../src/runtime/guest/create-guest.ts";
import type { RunningSandbox } from "../../src/runtime/runtime.ts";
import { findSpeakers, freeze, LIES, replaceGuest } from "../support/freeze.ts";
import { FILE_CALLS, GUEST_CALLS, type GuestCall } from "../support/guest-calls.ts";
import { type Box, useLab } from "./support/lab.ts";
import { processesOf, newMark } from "./support/outside.ts";
import { verifies } from "./verifies.ts";

const lab = useLab();
const NEVER = new AbortController().signal;
setMaxListeners(0, NEVER);
/** Far below what a person waits, and far above what a silent one is granted in these tests. */
const ANSWER_MS = 300;
const CALLS = { ...GUEST_CALLS, ...FILE_CALLS };

const socketsOf = ({ running }: Box): string => join(lab.home, "../run", running.id);

/** How each call ends that nobody answers. */
async function endsOf(
  running: RunningSandbox,
  calls: Readonly<Record<string, GuestCall>> = CALLS,
): Promise<Readonly<Record<string, string>>> {
  const guest = createGuest((signal) => running.connect(signal), { answerMs: ANSWER_MS, ended: running.ended });
  const ends = await Promise.all(Object.entries(calls).map(async ([name, call]) => [name, await endOf(call(guest, NEVER))] as const));
  return Object.fromEntries(ends);
}

async function endOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => "answered",
    (cause: unknown) => (cause instanceof BelljarError ? cause.code : String(cause)),
  );
}

const ALL_SILENT = {
  ...Object.fromEntries(Object.keys(CALLS).map((name) => [name, "SANDBOX_UNRESPONSIVE"])),
  accept: "Error: the wait was ended by its caller",
};
/** A guest that wakes does what lies before it, and this would be its end. */
const { shutdown: _shutdown, ...HARMLESS } = CALLS;
const { shutdown: _silent, ...HARMLESS_SILENT } = { shutdown: "", ...ALL_SILENT };

verifies(
  "silence-bounded",
  async () => {
    await using box = await lab.box();
    const { guest } = await findSpeakers(box.guest);
    await using running = await box.guest.exec({ argv: ["sleep", "600"], stdin: false, signal: NEVER });
    const long = createGuest((signal) => box.running.connect(signal), { answerMs: ANSWER_MS });
    await using started = await long.exec({ argv: ["sleep", "600"], stdin: false, signal: NEVER });
    const timed = box.guest.run({ argv: ["sleep", "600"], timeoutMs: 500, signal: NEVER });
    const frozen = await freeze(guest);
    // The guest's own timeout passes and nobody acts on it: without the host's, this would wait as long as the guest does.
    expect(await endOf(timed)).toBe("SANDBOX_UNRESPONSIVE");
    expect(await endOf(started.exited)).toBe("SANDBOX_UNRESPONSIVE");
    expect(await endsOf(box.running, HARMLESS)).toEqual(HARMLESS_SILENT);
    await frozen[Symbol.asyncDispose]();
    // Nobody spoke for it, so its silence cost it nothing.
    await box.guest.ping(AbortSignal.timeout(20_000));
    running.kill(9);
    expect((await running.exited).signal).toBe("SIGKILL");
    for (const lie of Object.values(LIES)) {
      await using _liar = await replaceGuest(socketsOf(box), lie);
      expect(await endsOf(box.running)).toEqual(ALL_SILENT);
    }
    await box.guest.ping(AbortSignal.timeout(20_000));
  },
  60_000,
);

verifies(
  "silent-sandboxes-end",
  async () => {
    for (const silent of ["guest", "keeper"] as const) {
      const mark = newMark();
      await using box = await lab.box({ ephemeral: false });
      await using _left = await box.guest.exec({ argv: ["sleep", mark], stdin: false, signal: NEVER });
      const speakers = await findSpeakers(box.guest);
      await using _frozen = await freeze(speakers[silent]);
      const usage = endOf(box.running.usage());
      expect(await usage).toBe(silent === "keeper" ? "SANDBOX_UNRESPONSIVE" : "answered");
      expect(await box.running.kill("killed")).toMatchObject({ reason: "killed" });
      expect(await processesOf(mark)).toEqual([]);
      expect(await lab.runtime.open(box.running.id, box.folder)).toBeUndefined();
      expect(await lab.runtime.clear(box.running.id, box.folder)).toMatchObject({ reason: "killed" });
    }
  },
  60_000,
);
