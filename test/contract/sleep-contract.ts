import { watch } from "node:fs";
import { describe, expect, it } from "vitest";
import type { BelljarError } from "../../src/errors.ts";
import { createGuest } from "../../src/runtime/guest/create-guest.ts";
import type { Guest } from "../../src/runtime/guest/guest.ts";
import {
  type ContractFeatures,
  type ContractSandbox,
  createSandbox,
  execOptions,
  itNeeds,
  type OpenRuntime,
  readUntil,
  run,
  soon,
} from "./contract-sandbox.ts";

const IDLE_MS = 200;

/** A sandbox that is idle is paused by itself. What shows that one is *not* paused waits for another one, which falls asleep later. */
export function sleepContract(open: OpenRuntime, features: ContractFeatures): void {
  const itSleeps = itNeeds(features, "sleep");

  describe("a sandbox that is idle", () => {
    it("is told of by its runtime, or its wish is refused", async () => {
      await using sandbox = await createSandbox(open);
      const code = await sandbox.running.sleepAfter(60_000).then(
        () => undefined,
        (cause: BelljarError) => cause.code,
      );
      expect(code).toBe(features.sleep ? undefined : "NOT_SUPPORTED");
      await sandbox.running.sleepAfter(undefined);
      expect(sandbox.running.isPaused()).toBe(false);
      await sandbox.guest.ping(soon());
    });

    itSleeps("is paused, says why, and goes on with the next call, again and again", async () => {
      await using sandbox = await createSandbox(open);
      const guest = wakingGuest(sandbox);
      await run(guest, "setsid -f sleep 600 >/dev/null 2>&1");
      await sandbox.running.sleepAfter(IDLE_MS);
      for (let i = 0; i < 3; i += 1) {
        await untilPaused(sandbox);
        expect(await sandbox.running.usage()).toMatchObject({ phase: "paused", pauseReason: "idle" });
        expect((await run(guest, "exit 7")).exitCode).toBe(7);
      }
    });

    itSleeps("is not one whose program uses the processor, without a stream", async () => {
      await using sandbox = await createSandbox(open);
      const guest = wakingGuest(sandbox);
      await sandbox.running.sleepAfter(2 * IDLE_MS);
      // It ends by itself, after more work than fits into the idle time.
      await run(guest, "setsid -f sh -c 'i=0; while [ $i -lt 1500000 ]; do i=$((i+1)); done; : >/tmp/done' >/dev/null 2>&1");
      await untilPaused(sandbox);
      expect((await run(guest, "test -e /tmp/done")).exitCode).toBe(0);
    });

    itSleeps("is not one with an open stream, and is one when the stream has ended", async () => {
      await using sandbox = await createSandbox(open);
      await using later = await createSandbox(open);
      await using command = await sandbox.guest.exec(execOptions("while read line; do echo got $line; done"));
      await sandbox.running.sleepAfter(IDLE_MS);
      await later.running.sleepAfter(4 * IDLE_MS);
      await untilPaused(later);
      expect(sandbox.running.isPaused()).toBe(false);
      command.stdin.end("word\n");
      expect(await readUntil(command.stdout, "\n")).toBe("got word\n");
      await command.exited;
      await untilPaused(sandbox);
    });

    itSleeps("is one of which only listeners of the host wait", async () => {
      await using sandbox = await createSandbox(open);
      const guest = wakingGuest(sandbox);
      const listened = await guest.listen([{ address: "127.0.0.1", port: 4_712 }], { signal: soon() });
      await sandbox.running.sleepAfter(IDLE_MS);
      await untilPaused(sandbox);
      expect((await listened.held.then(() => run(guest, "exit 2"))).exitCode).toBe(2);
      await untilPaused(sandbox);
    });

    itSleeps("is left alone when nobody wants it paused any more", async () => {
      await using sandbox = await createSandbox(open);
      await using later = await createSandbox(open);
      await sandbox.running.sleepAfter(IDLE_MS);
      await sandbox.running.sleepAfter(undefined);
      await later.running.sleepAfter(3 * IDLE_MS);
      await untilPaused(later);
      expect(sandbox.running.isPaused()).toBe(false);
    });

    itSleeps("keeps no call waiting, whenever the call comes", async () => {
      await using sandbox = await createSandbox(open);
      const guest = wakingGuest(sandbox);
      await sandbox.running.sleepAfter(10);
      for (let i = 0; i < 40; i += 1) {
        if (i % 4 === 0) await untilPaused(sandbox);
        const codes = await Promise.all([run(guest, "exit 3"), run(guest, "exit 4"), run(guest, "exit 5")]);
        expect(codes.map(({ exitCode }) => exitCode)).toEqual([3, 4, 5]);
      }
    });

    itSleeps("is woken by two at once", async () => {
      await using sandbox = await createSandbox(open);
      const second = await sandbox.runtime.open(sandbox.spec);
      if (!second) throw new Error("the sandbox is gone");
      const guests = [sandbox.running, second].map((one) =>
        createGuest((s) => one.connect(s), { ended: one.ended, wake: () => one.resume() }),
      );
      await sandbox.running.sleepAfter(IDLE_MS);
      await untilPaused(sandbox);
      const codes = await Promise.all(guests.map((guest, i) => run(guest, `exit ${i}`)));
      expect(codes.map(({ exitCode }) => exitCode)).toEqual([0, 1]);
      await second.release();
    });

    itSleeps("can be killed, stopped and met by its deadline while it sleeps", async () => {
      const ends = { kill: "killed", stop: "stopped", deadline: "deadline" } as const;
      for (const end of ["kill", "stop", "deadline"] as const) {
        await using sandbox = await createSandbox(open);
        const { running } = sandbox;
        await running.sleepAfter(IDLE_MS);
        await untilPaused(sandbox);
        if (end === "kill") await running.kill("killed");
        else if (end === "stop") await running.stop();
        else await running.extend(new Date(Date.now() + 1), "kill");
        expect((await running.ended).reason).toBe(ends[end]);
      }
    });

    itSleeps("is paused for good when somebody asks for it while it sleeps", async () => {
      await using sandbox = await createSandbox(open);
      await sandbox.running.sleepAfter(IDLE_MS);
      await untilPaused(sandbox);
      await sandbox.running.pause();
      expect(await sandbox.running.usage()).toMatchObject({ phase: "paused", pauseReason: "asked" });
    });
  });
}

/** A guest of a caller that may wake the sandbox. */
function wakingGuest({ running }: ContractSandbox): Guest {
  return createGuest((signal) => running.connect(signal), { ended: running.ended, wake: () => running.resume() });
}

/** Each pause sets a new time on the sandbox's folder. */
async function untilPaused({ running, spec }: ContractSandbox): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const look = (): void => void (running.isPaused() && (watcher.close(), resolve()));
    const watcher = watch(spec.folder, { signal: soon() }, look).once("error", reject);
    look();
  });
}
