import { once, setMaxListeners } from "node:events";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import { OPERATION } from "../../src/protocol/wire.ts";
import { call } from "../../src/runtime/guest/call.ts";
import { Link } from "../../src/runtime/guest/link.ts";
import { createKeeperClient } from "../../src/runtime/guest/keeper-client.ts";
import { readEnd } from "../../src/runtime/namespace/run-paths.ts";
import { keeperOf } from "../support/home-traces.ts";
import { jailRefusal } from "./support/jail-refusal.ts";
import { type Box, newId, openBox, useLab } from "./support/lab.ts";
import { isRoot, outside, statusOf } from "./support/outside.ts";
import { verifies } from "./verifies.ts";
import { runFolder, runName, runOf } from "../support/run-of.ts";

const lab = useLab();
const soon = (): AbortSignal => AbortSignal.timeout(60_000);
/** Dates that no timer can be set to: beyond the last second of the year 9999, and beyond all numbers. */
const ABSURD = [253_402_300_800_000n, 2n ** 63n, 2n ** 64n - 1n];

const keeperSocket = ({ running }: Box): string => join(lab.home, "../run", runName(running.id), "keeper");

verifies("deadline-surely-set", async () => {
  const deadline = new Date(Date.now() + 60_000);
  await using box = await lab.box({ deadline });
  const link = new Link(async () => connect(keeperSocket(box)));
  for (const absurd of ABSURD) {
    const asked = call(link, OPERATION.KEEPER_EXTEND, [["DEADLINE_MS", absurd]], soon());
    await expect(asked).rejects.toMatchObject({ code: "FILE_IO", message: expect.stringContaining("the one before stands") });
    expect((await box.running.usage()).deadline).toEqual(deadline);
  }
  for (const wrong of [new Date(Number.NaN), new Date(-1), new Date(8.64e15)])
    await expect(box.running.extend(wrong)).rejects.toMatchObject({ code: "ARGUMENTS_INVALID" });
  await box.running.extend(new Date(Date.now() + 50));
  expect((await box.running.ended).reason).toBe("deadline");
  // The jail itself: what its caller does not check, it does.
  expect(await refusalOf(ABSURD[2] ?? 0n)).toContain("set the sandbox's deadline");
  expect(await refusalOf(0n)).not.toContain("deadline");
});

/** What the jail says of a specification that has this deadline and nothing to build. */
const refusalOf = (deadline: bigint): Promise<string> => jailRefusal(lab.home, [["DEADLINE_MS", deadline]]);

verifies("end-reason-kept", async () => {
  if (!isRoot) return expect(await keptOnFullDisk(dirname(lab.home), async () => {})).toBe("deadline");
  const disk = join(lab.home, "../small");
  await mkdir(disk);
  await outside(["mount", "-t", "tmpfs", "-o", "size=256k", "none", disk]);
  try {
    expect(await keptOnFullDisk(disk, () => fill(disk))).toBe("deadline");
  } finally {
    await outside(["umount", disk]);
  }
});

/** Why a sandbox ended, as it is written in its folder, when the disk is full by then. */
async function keptOnFullDisk(disk: string, fillDisk: () => Promise<void>): Promise<string | undefined> {
  const id = newId();
  const folder = join(disk, id);
  await mkdir(folder, { mode: 0o700 });
  await using box = await openBox(lab.runtime, dirname(lab.home));
  const base = { template: "base" };
  const spec = { ...runOf(id, folder), base, hostname: id, limits: {}, required: [], ephemeral: true } as const;
  const running = await lab.runtime.create(spec, soon());
  await fillDisk();
  await running.extend(new Date(Date.now() + 50));
  expect((await running.ended).reason).toBe("deadline");
  expect(await readdir(runFolder(folder))).not.toContain("end.json.new");
  await box.guest.ping(soon());
  return (await readEnd(runOf(id, folder)))?.reason;
}

/** Until nothing more can be written: the attack, without which a reason would be written anyway. */
async function fill(disk: string): Promise<void> {
  for (let part = 0; ; part++) {
    try {
      await writeFile(join(disk, `part-${part}`), Buffer.alloc(1));
    } catch (cause) {
      expect(cause).toMatchObject({ code: "ENOSPC" });
      return;
    }
  }
}

const MANY = 400;

verifies(
  "commands-wait-in-line",
  async () => {
    await using box = await lab.box({ limits: { pids: 1_000, openFiles: 8_192, memoryBytes: 512 * 2 ** 20 } });
    const keeper = createKeeperClient(async () => connect(keeperSocket(box)));
    // What is long: processes that wait for the end, watches, terminals, listeners.
    const stop = new AbortController();
    setMaxListeners(0, stop.signal);
    const waiting = Array.from({ length: 800 }, () => keeper.wait(stop.signal).catch((cause: { code: string }) => cause.code));
    const watches = await Promise.all(Array.from({ length: 16 }, () => box.guest.files.watch("/tmp", { signal: stop.signal })));
    const shells = await Promise.all(Array.from({ length: 100 }, () => box.guest.exec({ argv: ["sleep", "600"], signal: stop.signal })));
    expect([watches.length, shells.length]).toEqual([16, 100]);
    // What is short, all at once: each asks the keeper too, as the tools do.
    const works = Array.from({ length: MANY }, async (_, number) => {
      const usage = await box.running.usage();
      const { exitCode } = await box.guest.run({ argv: ["sh", "-c", `exit ${number % 7}`], signal: soon() });
      return [usage.phase, exitCode];
    });
    expect(await Promise.all(works)).toEqual(Array.from({ length: MANY }, (_, number) => ["running", number % 7]));
    // Those that are cancelled leave the line, and take nobody's place.
    const cancelled = new AbortController();
    setMaxListeners(0, cancelled.signal);
    const given = Array.from({ length: MANY }, () =>
      box.guest.run({ argv: ["sleep", "600"], signal: cancelled.signal }).catch((cause: { code: string }) => cause.code),
    );
    cancelled.abort();
    expect(new Set(await Promise.all(given))).toEqual(new Set(["CANCELLED"]));
    expect((await box.run(["echo", "alive"])).out).toBe("alive\n");
    stop.abort();
    const told = await Promise.all(waiting);
    expect(new Set(told)).toEqual(new Set(["CANCELLED", "PROCESS_LIMIT"]));
    expect(told.filter((code) => code === "PROCESS_LIMIT").length).toBeLessThanOrEqual(32 + 1);
  },
  120_000,
);

verifies("keeper-recovers", async () => {
  await using box = await lab.box();
  const keeper = keeperOf(box.folder);
  // Clients that stay take every free number below the highest: the next descriptor is one more than there are.
  const staying: Socket[] = [];
  let open: readonly number[];
  do {
    const socket = connect(keeperSocket(box));
    staying.push(socket);
    await once(socket, "connect");
    await box.running.usage(); // those that came before it are served before it
    await expect.poll(() => statusOf(keeper, "State"), { timeout: 30_000 }).toMatch(/^S/);
    open = (await readdir(`/proc/${keeper}/fd`)).map(Number);
  } while (Math.max(...open) !== open.length - 1);
  await limitFiles(keeper, `${open.length}`);
  // A client may still have come before the limit held.
  const limited = await readdir(`/proc/${keeper}/fd`);
  const slept = await statusOf(keeper, "voluntary_ctxt_switches");
  const asked = box.running.usage();
  await expect.poll(() => statusOf(keeper, "voluntary_ctxt_switches"), { timeout: 30_000 }).not.toBe(slept);
  expect(await readdir(`/proc/${keeper}/fd`)).toEqual(limited);
  await limitFiles(keeper, "1024");
  expect((await asked).phase).toBe("running");
  for (const socket of staying) socket.destroy();
});

/** The soft limit alone, which its user may raise again. */
async function limitFiles(pid: number, files: string): Promise<void> {
  expect(await outside(["prlimit", `--pid=${pid}`, `--nofile=${files}:`])).toMatchObject({ code: 0 });
}
