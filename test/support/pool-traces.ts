import { readdir, readFile, readlink } from "node:fs/promises";
import { join } from "node:path";
import { expect, vi } from "vitest";
import { outside } from "../security/support/outside.ts";

const GONE = { timeout: 30_000, interval: 10 };

/** What the host has of a home's storage pool. */
export interface PoolTraces {
  readonly mounts: number;
  readonly devices: number;
  readonly caretakers: readonly number[];
}

export const NO_POOL: PoolTraces = { mounts: 0, devices: 0, caretakers: [] };

export async function poolTraces(home: string): Promise<PoolTraces> {
  const mounts = (await readFile("/proc/self/mountinfo", "utf8")).split("\n").filter((row) => row.split(" ")[4] === join(home, "pool"));
  const { out } = await outside(["losetup", "--associated", join(home, "pool.img")]);
  return { mounts: mounts.length, devices: out.split("\n").filter((row) => row !== "").length, caretakers: await findCaretakers(home) };
}

export async function untilUnmounted(home: string): Promise<void> {
  const isGone = async (): Promise<boolean> => JSON.stringify(await poolTraces(home)) === JSON.stringify(NO_POOL);
  await vi.waitUntil(isGone, GONE);
}

/** On a busy machine a caretaker that is not needed, or was killed, may be there for a moment. */
export async function untilPoolIs(home: string, expected: object): Promise<void> {
  await vi.waitFor(async () => expect(await poolTraces(home)).toMatchObject(expected), GONE);
}

/** A process of the native binary that has the pool's lock open as its third descriptor, as a process of Node has not. */
async function findCaretakers(home: string): Promise<readonly number[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const found = pids.map(async (pid) => {
    const [name, lock] = await Promise.all([
      readFile(`/proc/${pid}/comm`, "utf8").catch(() => ""),
      readlink(`/proc/${pid}/fd/3`).catch(() => ""),
    ]);
    return name === "belljar-pool\n" && lock === join(home, "pool.lock") ? [Number(pid)] : [];
  });
  return (await Promise.all(found)).flat();
}
