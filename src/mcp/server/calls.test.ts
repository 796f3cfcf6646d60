import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createCalls } from "./calls.ts";

const NEVER = new AbortController().signal;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Work that ends when it is told to, and says whether it was aborted. */
function openWork() {
  let end = (): void => undefined;
  const ended = new Promise<void>((resolve) => (end = resolve));
  const state = { isAborted: false };
  const work = async (signal: AbortSignal): Promise<void> => {
    signal.addEventListener("abort", () => (state.isAborted = true));
    if (signal.aborted) state.isAborted = true;
    await ended;
  };
  return { work, end, state };
}

it("lets a call end by itself within the grace", async () => {
  const calls = createCalls();
  const { work, end, state } = openWork();
  const call = calls.run(NEVER, work);
  const stopped = calls.stop(1_000);
  end();
  await Promise.all([call, stopped]);
  expect(state.isAborted).toBe(false);
});

it("aborts a call after the grace and waits for its clean-up", async () => {
  const calls = createCalls();
  const { work, end, state } = openWork();
  const call = calls.run(NEVER, work);
  let isStopped = false;
  const stopped = calls.stop(1_000).then(() => (isStopped = true));
  await vi.advanceTimersByTimeAsync(1_000);
  expect([state.isAborted, isStopped]).toEqual([true, false]);
  end();
  await Promise.all([call, stopped]);
});

it("does not wait for ever for a call that heeds no abort", async () => {
  const calls = createCalls();
  void calls.run(NEVER, () => new Promise(() => undefined));
  const stopped = calls.stop(0);
  await vi.advanceTimersByTimeAsync(10_000);
  await stopped;
});

it("aborts at once what starts after the stop", async () => {
  const calls = createCalls();
  await calls.stop(0);
  const { work, end, state } = openWork();
  const call = calls.run(NEVER, work);
  expect(state.isAborted).toBe(true);
  end();
  await call;
});

it("passes on why the caller aborted", async () => {
  const cancel = new AbortController();
  const seen = createCalls().run(
    cancel.signal,
    (signal) => new Promise((resolve) => signal.addEventListener("abort", () => resolve(signal.reason))),
  );
  cancel.abort("changed my mind");
  expect(await seen).toBe("changed my mind");
});
