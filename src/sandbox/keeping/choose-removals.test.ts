import { expect, it } from "vitest";
import { chooseRemovals, type KeepLimits } from "./choose-removals.ts";
import type { KeptEntry } from "./kept-index.ts";

const entry = (id: string, stoppedMs: number, more: Partial<KeptEntry> = {}): KeptEntry => ({
  id,
  generation: 1,
  stoppedMs,
  bytes: 10,
  isInMemory: false,
  isAsked: false,
  ...more,
});

const choose = (entries: readonly KeptEntry[], limits: KeepLimits, now = 100) =>
  chooseRemovals(entries, { ...limits, now }).map(({ entry: { id }, because }) => `${id} ${because}`);

it("removes nothing without limits, and nothing that fits", () => {
  const entries = [entry("a", 1), entry("b", 2)];
  expect(choose(entries, {})).toEqual([]);
  expect(choose(entries, { keep: 100, keepBytes: 20, keepMemoryBytes: 0 })).toEqual([]);
});

it("removes those whose time is over, to the millisecond", () => {
  expect(choose([entry("a", 50), entry("b", 51)], { keep: 50 })).toEqual(["a expired"]);
  expect(choose([entry("a", 100)], { keep: 0 })).toEqual(["a expired"]);
});

it("removes the oldest until the others fit, and counts none whose time is over", () => {
  const entries = [entry("c", 30), entry("a", 10), entry("d", 40), entry("b", 20)];
  expect(choose(entries, { keepBytes: 29 })).toEqual(["a no_room", "b no_room"]);
  expect(choose(entries, { keep: 90, keepBytes: 29 })).toEqual(["a expired", "b no_room"]);
});

it("counts memory and disk apart", () => {
  const entries = [entry("a", 1, { isInMemory: true }), entry("b", 2), entry("c", 3, { isInMemory: true })];
  expect(choose(entries, { keepBytes: 10, keepMemoryBytes: 15 })).toEqual(["a no_room"]);
});

it("removes what is too large by itself, and lets it cost no other one its place", () => {
  expect(choose([entry("a", 1), entry("big", 2, { bytes: 31 })], { keepBytes: 30 })).toEqual(["big no_room"]);
});

it("removes none that was stopped by a call, and counts none", () => {
  expect(choose([entry("a", 1, { isAsked: true, bytes: 100 }), entry("b", 2)], { keep: 1, keepBytes: 10 })).toEqual(["b expired"]);
  expect(choose([entry("a", 1, { isAsked: true, bytes: 100 }), entry("b", 2)], { keepBytes: 10 })).toEqual([]);
});
