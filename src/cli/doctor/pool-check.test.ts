import { expect, it } from "vitest";
import { BelljarError } from "../../errors.ts";
import { unavailable } from "../../sandbox/runtimes.ts";
import { withPoolCheck } from "./pool-check.ts";

const MIB = 2 ** 20;
const REPORT = {
  sizeBytes: 2048 * MIB,
  usedBytes: 100 * MIB,
  hostBytes: 150 * MIB,
  live: { count: 1, bytes: 10 * MIB },
  stopped: { count: 2, bytes: 20 * MIB },
  left: { count: 0, bytes: 0 },
  frozen: { count: 3, bytes: 70 * MIB },
};
const BEFORE = unavailable("namespace", []);

it("says what the storage pool holds, in a sentence and in numbers", async () => {
  const { checks, storagePool } = await withPoolCheck(BEFORE, async () => REPORT);
  expect(storagePool).toEqual(REPORT);
  expect(checks).toEqual([
    {
      id: "storage-pool",
      state: "enforced",
      detail:
        "The storage pool uses 100 MiB of 2 GiB, and takes 150 MiB of the disk: 10 MiB of 1 live sandbox; 20 MiB of 2 stopped ones, which deleting them frees; 70 MiB of 3 frozen layers of snapshots and checkpoints, and the pool itself",
    },
  ]);
});

it("names what ended sandboxes have left", async () => {
  const { checks } = await withPoolCheck(BEFORE, async () => ({ ...REPORT, left: { count: 1, bytes: MIB } }));
  expect(checks[0]?.detail).toContain("; 1 MiB of 1 ended one, which the next sweep frees;");
});

it("says nothing of a home without a pool, and why one cannot be read", async () => {
  expect(await withPoolCheck(BEFORE, async () => undefined)).toBe(BEFORE);
  const failed = await withPoolCheck(BEFORE, () => Promise.reject(new BelljarError("RUNTIME_UNAVAILABLE", "no loop devices")));
  expect(failed.checks).toEqual([{ id: "storage-pool", state: "absent", detail: "no loop devices" }]);
  await expect(withPoolCheck(BEFORE, () => Promise.reject(new Error("a defect")))).rejects.toThrow("a defect");
});
