import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ToldLater } from "./told-later.ts";

describe("what is told later", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("is told once for each key, however often it was added, and again after that", () => {
    const told: (readonly string[])[] = [];
    const later = new ToldLater((keys) => told.push(keys), { delayMs: 40, failed: () => undefined });
    for (let round = 0; round < 3; round += 1) for (const key of ["a", "b"]) later.add(key);
    vi.advanceTimersByTime(39);
    expect(told).toEqual([]);
    later.add("a");
    vi.advanceTimersByTime(1);
    expect(told).toEqual([["a", "b"]]);
    later.add("b");
    vi.advanceTimersByTime(40);
    expect(told).toEqual([["a", "b"], ["b"]]);
  });

  it("is forgotten by a close, after which it goes on", () => {
    const told: (readonly string[])[] = [];
    const later = new ToldLater((keys) => told.push(keys), { delayMs: 40, failed: () => undefined });
    later.add("a");
    later.close();
    vi.advanceTimersByTime(100);
    expect(told).toEqual([]);
    later.add("b");
    vi.advanceTimersByTime(40);
    expect(told).toEqual([["b"]]);
  });

  it("ends nothing by what the telling throws", () => {
    const failed: unknown[] = [];
    const cause = new Error("it cannot be read");
    const tell = (): void => {
      throw cause;
    };
    const later = new ToldLater(tell, { delayMs: 40, failed: (thrown) => failed.push(thrown) });
    later.add("a");
    vi.advanceTimersByTime(40);
    expect(failed).toEqual([cause]);
  });
});
