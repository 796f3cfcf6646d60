import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { BelljarError } from "../../src/errors.ts";
import type { Box } from "./support/lab.ts";
import { openBox, openTestRuntime, useLab } from "./support/lab.ts";
import { isRoot, newMark, outside, processesOf, removeFolder, statusOf } from "./support/outside.ts";
import { verifies } from "./verifies.ts";
import { runOf } from "../support/run-of.ts";

const lab = useLab(["stubborn", "daemon"]);
const signal = (): AbortSignal => AbortSignal.timeout(30_000);
const SIGTERM_BIT = 1n << 14n;

/** The code of the error that the work ends with. Listens from now on, so the work may fail at any time. */
async function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => "none",
    (error: unknown) => (error instanceof BelljarError ? error.code : String(error)),
  );
}

verifies("nothing-survives", async () => {
  await expectAttacksWorkOutside();
  const mark = newMark();
  const box = await lab.box();
  await using _box = box;
  const [stubborn, daemon] = [await box.install("stubborn"), await box.install("daemon")];
  await using first = await box.guest.exec({ argv: [stubborn, mark], stdin: false, signal: signal() });
  await once(first.stdout, "data");
  expect((await box.run([daemon, mark])).out).toBe("left\n");
  expect(await processesOf(mark)).toHaveLength(2);
  const ended = codeOf(first.exited);
  const timed = await box.guest.run({ argv: [stubborn, mark], timeoutMs: 200, signal: signal() });
  expect(timed).toMatchObject({ timedOut: true, signal: "SIGKILL" });
  expect(await processesOf(mark)).toHaveLength(2);
  expect(await box.running.kill("killed")).toMatchObject({ reason: "killed" });
  expect(await processesOf(mark)).toEqual([]);
  expect(await ended).toBe("SANDBOX_ENDED");
});

/** Both attacks outlive a polite end; here they are ended by pid. */
async function expectAttacksWorkOutside(): Promise<void> {
  const mark = newMark();
  const stubborn = spawn(lab.attack("stubborn"), [mark]);
  const exit = once(stubborn, "exit");
  await once(stubborn.stdout, "data");
  expect(BigInt(`0x${await statusOf(stubborn.pid ?? 0, "SigIgn")}`) & SIGTERM_BIT).toBe(SIGTERM_BIT);
  expect((await outside([lab.attack("daemon"), mark])).out).toBe("left\n");
  const left = await processesOf(mark);
  expect(left).toHaveLength(2);
  for (const pid of left) process.kill(pid, "SIGKILL");
  await exit;
}

verifies("keeper-death-ends-all", async () => {
  const mark = newMark();
  await using box = await lab.box({ ephemeral: false });
  await using sleeper = await box.guest.exec({ argv: ["sleep", mark], stdin: false, signal: signal() });
  const cut = codeOf(sleeper.exited);
  const keeper = await keeperOf(box, mark);
  process.kill(keeper, "SIGKILL");
  expect((await box.running.ended).reason).toBe("keeper_lost");
  expect(await cut).toMatch(/^(SANDBOX_ENDED|GUEST_PROTOCOL)$/);
  expect(await lab.runtime.clear(runOf(box.running.id, box.folder))).toMatchObject({ reason: "keeper_lost" });
  // Without control groups nobody can wait for the last process: the kernel ends it by itself.
  await expect.poll(() => processesOf(mark), { timeout: 30_000 }).toEqual([]);
});

/** The guest is the init of the marked process's PID namespace; its parent is the keeper. */
async function keeperOf(box: Box, mark: string): Promise<number> {
  const [marked = 0] = await processesOf(mark);
  const guest = Number(await statusOf(marked, "PPid"));
  expect(await statusOf(guest, "NSpid")).toMatch(/\s1$/);
  expect(box.running.id).not.toBe("");
  return Number(await statusOf(guest, "PPid"));
}

verifies("deadline-needs-no-host", async () => {
  const mark = newMark();
  await using box = await lab.box({ ephemeral: false, deadline: new Date(Date.now() + 700) });
  const sleeper = box.guest.run({ argv: ["sleep", mark], signal: signal() });
  await expect(sleeper).rejects.toMatchObject({ code: "SANDBOX_ENDED", message: expect.stringContaining("deadline") });
  expect(await box.running.ended).toMatchObject({ reason: "deadline" });
  expect(await processesOf(mark)).toEqual([]);
});

verifies("long-home-works", async () => {
  // A unix socket's path is at most 107 bytes long, so a socket below such a home could not be made.
  const short = await mkdtemp(join(tmpdir(), "belljar-long-"));
  try {
    const long = join(short, "l".repeat(100), "m".repeat(200 - 106 - short.length - "/home".length));
    await mkdir(long, { recursive: true });
    const runtime = await openTestRuntime(join(long, "home"), join(short, "run"));
    expect(join(long, "home").length).toBeGreaterThanOrEqual(195);
    await using box = await openBox(runtime, long);
    expect((await box.run(["echo", "alive"], { user: isRoot ? "root" : "user" })).out).toBe("alive\n");
  } finally {
    await removeFolder(short);
  }
});
