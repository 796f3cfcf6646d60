import { getEventListeners } from "node:events";
import { expect, it } from "vitest";
import { limitTime } from "./limit-time.ts";
import { settleWithin } from "./settle-within.ts";

const LONG_MS = 1_000_000;
const never = new Promise<never>(() => undefined);

it("settles like the promise, and leaves no timer and no listener behind", async () => {
  const { signal } = new AbortController();
  const before = process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
  expect(await settleWithin(Promise.resolve(7), { timeoutMs: LONG_MS, signal })).toBe(7);
  await expect(settleWithin(Promise.reject(new Error("no")), { timeoutMs: LONG_MS, signal })).rejects.toThrow("no");
  expect(getEventListeners(signal, "abort")).toHaveLength(0);
  expect(process.getActiveResourcesInfo().filter((name) => name === "Timeout").length).toBe(before);
});

it("is late when the time is up, when the signal aborts, and when the signal had already aborted", async () => {
  expect(await settleWithin(never, { timeoutMs: 1 })).toBe("late");
  const controller = new AbortController();
  const waited = settleWithin(never, { timeoutMs: LONG_MS, signal: controller.signal });
  controller.abort();
  expect(await waited).toBe("late");
  expect(await settleWithin(never, { timeoutMs: LONG_MS, signal: controller.signal })).toBe("late");
});

it("limits a signal by a time, by another signal and by its own end", async () => {
  using soon = limitTime(new AbortController().signal, 1);
  await new Promise((resolve) => soon.signal.addEventListener("abort", resolve));
  expect(soon.signal.reason).toMatchObject({ name: "TimeoutError" });
  const controller = new AbortController();
  using limited = limitTime(controller.signal, LONG_MS);
  controller.abort(new Error("enough"));
  expect(limited.signal.reason).toMatchObject({ message: "enough" });
  using late = limitTime(controller.signal, LONG_MS);
  expect(late.signal.aborted).toBe(true);
  const parent = new AbortController().signal;
  const disposed = limitTime(parent, LONG_MS);
  disposed[Symbol.dispose]();
  expect(disposed.signal.aborted).toBe(true);
  expect(getEventListeners(parent, "abort")).toHaveLength(0);
});
