import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { SandboxInfo } from "../sandbox/sandbox.ts";
import { keepExtended } from "./keep-extended.ts";

const HOUR_MS = 3_600_000;

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** A sandbox that is nothing but its deadline. */
function withDeadline(inMs: number) {
  let deadline = new Date(Date.now() + inMs);
  let failures = 0;
  return {
    leftMs: () => deadline.getTime() - Date.now(),
    failNext: () => (failures += 1),
    info: async () => ({ deadline }) as SandboxInfo,
    async extend(timeoutMs: number) {
      if (failures > 0) throw new Error(`failure ${failures--}`);
      deadline = new Date(Date.now() + timeoutMs);
    },
  };
}

it("moves the deadline at once and again, until it is disposed", async () => {
  const sandbox = withDeadline(60_000);
  const kept = keepExtended(sandbox, HOUR_MS);
  await vi.advanceTimersByTimeAsync(0);
  expect(sandbox.leftMs()).toBe(HOUR_MS);
  await vi.advanceTimersByTimeAsync(50 * HOUR_MS);
  expect(sandbox.leftMs()).toBeGreaterThanOrEqual((HOUR_MS * 2) / 3);
  await kept[Symbol.asyncDispose]();
  await vi.advanceTimersByTimeAsync(HOUR_MS);
  expect(sandbox.leftMs()).toBeLessThanOrEqual(0);
});

it("takes no time from a sandbox that has more", async () => {
  const sandbox = withDeadline(9 * HOUR_MS);
  await using _kept = keepExtended(sandbox, HOUR_MS);
  await vi.advanceTimersByTimeAsync(HOUR_MS);
  expect(sandbox.leftMs()).toBe(8 * HOUR_MS);
});

it("tries again after a failure", async () => {
  const sandbox = withDeadline(HOUR_MS / 2);
  sandbox.failNext();
  await using _kept = keepExtended(sandbox, HOUR_MS);
  await vi.advanceTimersByTimeAsync(0);
  expect(sandbox.leftMs()).toBe(HOUR_MS / 2);
  await vi.advanceTimersByTimeAsync(HOUR_MS / 3);
  expect(sandbox.leftMs()).toBe(HOUR_MS);
});
