import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { repeat } from "./repeat.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

it("calls again after as long as the last call said", async () => {
  const at: number[] = [];
  const start = Date.now();
  await using _repeating = repeat(async () => at.push(Date.now() - start) * 1_000, 100);
  await vi.advanceTimersByTimeAsync(99);
  expect(at).toEqual([]);
  await vi.advanceTimersByTimeAsync(1 + 1_000 + 2_000);
  expect(at).toEqual([100, 1_100, 3_100]);
});

it("calls no more once it is disposed, and waits for the call that runs", async () => {
  const events: string[] = [];
  let finish = (_delayMs: number): void => undefined;
  const repeating = repeat(() => (events.push("called"), new Promise((resolve) => (finish = resolve))), 1);
  await vi.advanceTimersByTimeAsync(1);
  const disposed = repeating[Symbol.asyncDispose]().then(() => events.push("disposed"));
  await vi.advanceTimersByTimeAsync(1_000);
  expect(events).toEqual(["called"]);
  finish(1);
  await disposed;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(events).toEqual(["called", "disposed"]);
});

it("takes a delay that is longer than a timer's as the longest one, not as none", async () => {
  let calls = 0;
  await using _repeating = repeat(async () => ((calls += 1), 10 ** 12), 1);
  await vi.advanceTimersByTimeAsync(86_400_000);
  expect(calls).toBe(1);
});
