import { PassThrough } from "node:stream";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { openByteProgress } from "./progress.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function open(isTTY: boolean) {
  const screen = Object.assign(new PassThrough(), { isTTY });
  return { progress: openByteProgress(screen, "Copying"), said: () => String(screen.read() ?? "") };
}

it("shows a terminal how much was carried, and takes it away", () => {
  const { progress, said } = open(true);
  progress.add(1536);
  expect(said()).toBe("");
  vi.advanceTimersByTime(1000);
  expect(said()).toBe("\rCopying: 1.5 KiB ...\u001B[K");
  progress.add(1536);
  vi.advanceTimersByTime(200);
  expect(said()).toContain("3 KiB");
  progress[Symbol.dispose]();
  expect(said()).toBe("\r\u001B[K");
  expect(vi.getTimerCount()).toBe(0);
});

it("tells others once, and of quick work nobody", () => {
  const slow = open(false);
  vi.advanceTimersByTime(5000);
  slow.progress[Symbol.dispose]();
  expect(slow.said()).toBe("Copying ...\n");
  const quick = open(true);
  quick.progress[Symbol.dispose]();
  vi.advanceTimersByTime(5000);
  expect(quick.said()).toBe("");
});
