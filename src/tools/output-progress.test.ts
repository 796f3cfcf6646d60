import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { openOutputProgress } from "./output-progress.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

function open() {
  const told: string[] = [];
  const numbers: number[] = [];
  const progress = openOutputProgress(({ progress, message = "" }) => (told.push(message), numbers.push(progress)));
  return { told, numbers, push: (text: string) => progress.push(Buffer.from(text)), [Symbol.dispose]: () => progress[Symbol.dispose]() };
}

it("tells the last line at most once a second", () => {
  using progress = open();
  for (let step = 0; step < 30; step += 1) {
    progress.push(`line ${step}\n`);
    vi.advanceTimersByTime(100);
  }
  expect(progress.told).toEqual(["line 9", "line 19", "line 29"]);
  expect(progress.numbers).toEqual([1, 2, 3]);
});

it("tells of silence now and then, so that a waiting client knows of the work", () => {
  using progress = open();
  vi.advanceTimersByTime(25_000);
  expect(progress.told).toEqual(["no output, running for 10 s", "no output, running for 20 s"]);
});

it("tells what comes after a silence at once", () => {
  using progress = open();
  vi.advanceTimersByTime(5_000);
  progress.push("\n  \nnow\n\n");
  vi.advanceTimersByTime(0);
  expect(progress.told).toEqual(["now"]);
});

it("shows the end of a long line", () => {
  using progress = open();
  progress.push(`${"x".repeat(10_000)}END`);
  vi.advanceTimersByTime(1_000);
  expect(progress.told[0]).toHaveLength(203);
  expect(progress.told[0]).toMatch(/^\.\.\.x+END$/);
});

it("leaves no timer behind", () => {
  {
    using progress = open();
    progress.push("a");
  }
  expect(vi.getTimerCount()).toBe(0);
});
