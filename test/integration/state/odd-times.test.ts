import { expect, it, vi } from "vitest";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import { checkpointBeforeCalls } from "../../../src/sandbox/state/last-call.ts";
import { openStateHome, shell, STATE_CONFIG } from "../../support/state-home.ts";

const HOUR_MS = 3_600_000;
const soon = (): AbortSignal => AbortSignal.timeout(50_000);
const PER_CALL = { ...STATE_CONFIG, sandbox: { ...STATE_CONFIG.sandbox, autoCheckpoint: "per_call" as const, autoCheckpointKeep: 4 } };

it("calls are taken back in their order, though the clock ran back between them", async () => {
  await using home = await openStateHome("home", { config: PER_CALL });
  const sandbox = await home.sandboxes.create(LOCAL, {}, soon());
  const call = async (name: number): Promise<void> => {
    await sandbox.timeLine.beforeCall?.(`call ${name}`, soon());
    await shell(sandbox, `echo ${name} >> notes`);
  };
  try {
    for (const name of [1, 2, 3]) await call(name);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() - HOUR_MS });
    for (const name of [4, 5, 6, 7, 8, 9]) await call(name);
  } finally {
    vi.useRealTimers();
  }
  const { checkpoints } = await sandbox.timeLine.list();
  expect(checkpoints.map(({ before }) => before)).toEqual(["call 5", "call 6", "call 7", "call 8", "call 9"]);
  const { id, before } = await checkpointBeforeCalls(sandbox, 1);
  expect(before).toBe("call 9");
  const back = await sandbox.timeLine.rollback(id, soon());
  expect(await shell(back.sandbox, "tail -1 notes")).toMatch(/^8\n?$/);
}, 60_000);

it("what the time line shows is there after one more call", async () => {
  await using home = await openStateHome("home", { config: PER_CALL });
  const sandbox = await home.sandboxes.create(LOCAL, {}, soon());
  for (let name = 1; name <= 6; name++) await sandbox.timeLine.beforeCall?.(`call ${name}`, soon());
  const { checkpoints } = await sandbox.timeLine.list();
  const [oldest] = checkpoints;
  await sandbox.timeLine.beforeCall?.("call 7", soon());
  expect([checkpoints.length, (await sandbox.timeLine.rollback(oldest?.id ?? "", soon())).checkpoint]).toEqual([5, oldest?.id]);
}, 60_000);

it.skipIf(process.getuid?.() !== 0)(
  "a sandbox that its deadline has paused gets its lifetime when it is put back (skipped for an ordinary user, who has no freezer)",
  async () => {
    await using home = await openStateHome("home");
    const sandbox = await home.sandboxes.create(LOCAL, { timeoutMs: 60_000, onDeadline: "pause" }, soon());
    const { id } = await sandbox.timeLine.checkpoint({}, soon());
    await sandbox.extend(1_000, "pause");
    await vi.waitUntil(async () => (await sandbox.usage()).pauseReason === "deadline", { timeout: 20_000 });
    const { deadline, phase } = await (await sandbox.timeLine.rollback(id, soon())).sandbox.usage();
    expect(phase).toBe("running");
    expect(Number(deadline)).toBeLessThan(Date.now() + HOUR_MS);
  },
  60_000,
);
