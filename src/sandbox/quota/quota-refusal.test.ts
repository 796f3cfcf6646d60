import { expect, it } from "vitest";
import { cpuUsedUp, memoryUsedUp, sandboxesUsedUp, stoppedUsedUp } from "./quota-refusal.ts";

const MIB = 2 ** 20;
const one = { memoryBytes: 100 * MIB, cpuUs: 2_500_000 };

it("refuses nothing without a quota", () => {
  expect([sandboxesUsedUp({}, [one]), stoppedUsedUp({}, 9), memoryUsedUp({}, [one]), cpuUsedUp({}, [one])]).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});

it("holds the number of live sandboxes, and of stopped ones", () => {
  expect(sandboxesUsedUp({ sandboxes: 2 }, [one])).toBeUndefined();
  expect(sandboxesUsedUp({ sandboxes: 2 }, [one, one])).toMatchObject({
    code: "QUOTA_EXCEEDED",
    message: "The quota of 2 sandboxes that live at once is used up (2 live or are just being made): kill one of yours",
  });
  expect(stoppedUsedUp({ stoppedSandboxes: 2 }, 1)).toBeUndefined();
  expect(stoppedUsedUp({ stoppedSandboxes: 2 }, 2)).toMatchObject({ code: "QUOTA_EXCEEDED" });
});

it("holds the memory of all live sandboxes, to the byte", () => {
  const quotas = { memoryBytes: 250 * MIB };
  expect(memoryUsedUp(quotas, [one], 150 * MIB)).toBeUndefined();
  expect(memoryUsedUp(quotas, [one], 150 * MIB + 1)).toMatchObject({
    message: expect.stringContaining("(100 MiB are given, this one wants 151 MiB)") as string,
  });
});

it("says that a sandbox fits in no quota, whatever ends", () => {
  const message = (wanted?: number) => memoryUsedUp({ memoryBytes: MIB }, [], wanted)?.message;
  expect(message(MIB)).toBeUndefined();
  expect(message(MIB + 1)).toMatch(/^This sandbox wants 2 MiB, the quota is 1 MiB .*: name a smaller limit$/);
  expect(message()).toMatch(/^This sandbox wants an unlimited amount, /);
});

it("holds the CPU time of all live sandboxes", () => {
  expect(cpuUsedUp({ cpuSeconds: 5.1 }, [one, one])).toBeUndefined();
  expect(cpuUsedUp({ cpuSeconds: 5 }, [one, one])).toMatchObject({ message: expect.stringContaining("(5 are used)") as string });
  expect(cpuUsedUp({ cpuSeconds: 2.5 }, [one])).toMatchObject({ message: expect.stringContaining("(2 are used)") as string });
});

it("says when the first deadline makes room, and how long that takes at least", () => {
  const [soon, later] = [new Date(Date.now() + 100_000), new Date(Date.now() + 200_000)];
  const error = sandboxesUsedUp({ sandboxes: 1 }, [{ ...one, deadline: later }, { ...one, deadline: soon }, one]);
  expect(error?.message).toContain(`or try again at ${soon.toISOString()}`);
  expect(error?.retryAfterMs).toBeGreaterThan(90_000);
  expect(error?.retryAfterMs).toBeLessThanOrEqual(100_000);
  expect(sandboxesUsedUp({ sandboxes: 1 }, [{ ...one, deadline: new Date(0) }])?.retryAfterMs).toBe(1_000);
  expect(sandboxesUsedUp({ sandboxes: 1 }, [one])?.retryAfterMs).toBeUndefined();
});

it("names each runtime that this Belljar does not have once", () => {
  const missing = (missingRuntime: string) => ({ ...one, missingRuntime });
  const message = sandboxesUsedUp({ sandboxes: 1 }, [missing("a"), missing("b"), missing("a"), one])?.message;
  expect(message).toContain('3 of them count because this Belljar does not have their runtime ("a", "b")');
});
