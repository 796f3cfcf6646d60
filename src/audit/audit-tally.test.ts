import { expect, it } from "vitest";
import { AuditTally } from "./audit-tally.ts";

const at = (ms: number): Date => new Date(ms);
const time = (ms: number): string => at(ms).toISOString();

it("counts events by key, and gives the fields of the last with the sums of their bytes", () => {
  const tally = new AuditTally();
  tally.add("a", { n: 1, sentBytes: 2, receivedBytes: 10 }, at(1));
  tally.add("a", { n: 2, sentBytes: 3, receivedBytes: 20 }, at(5));
  tally.add("a", { n: 3, sentBytes: 4 }, at(9));
  tally.add("b", { n: 4, count: 7 }, at(3));
  tally.add("b", { n: 5, count: 2 }, at(4));
  expect(tally.take(at(3))).toEqual([
    { n: 3, sentBytes: 9, count: 3, first: time(1), last: time(9) },
    { n: 5, count: 9, first: time(3), last: time(4) },
  ]);
});

it("gives what began until then, and begins again", () => {
  const tally = new AuditTally();
  tally.add("a", {}, at(1));
  tally.add("b", {}, at(2));
  expect(tally.take(at(0))).toEqual([]);
  expect(tally.take(at(1))).toEqual([{ count: 1, first: time(1), last: time(1) }]);
  tally.add("a", {}, at(8));
  expect(tally.take(at(7))).toEqual([{ count: 1, first: time(2), last: time(2) }]);
  expect(tally.take(at(8))).toEqual([{ count: 1, first: time(8), last: time(8) }]);
});

it("counts nothing for the first event of a key that is written, and forgets a key without further events", () => {
  const tally = new AuditTally();
  expect([tally.knows("a", at(1)), tally.knows("a", at(2))]).toEqual([false, true]);
  tally.add("a", { n: 1 }, at(2));
  expect(tally.take(at(2))).toEqual([{ n: 1, count: 1, first: time(2), last: time(2) }]);
  expect([tally.isEmpty, tally.knows("a", at(3))]).toEqual([false, true]);
  expect(tally.take(at(2))).toEqual([]);
  expect([tally.isEmpty, tally.knows("a", at(4))]).toEqual([true, false]);
});

it("is full with a thousand keys", () => {
  const tally = new AuditTally();
  for (let key = 1; key < 1_000; key += 1) tally.add(String(key), {}, at(0));
  expect(tally.isFull).toBe(false);
  tally.knows("one more", at(0));
  expect(tally.isFull).toBe(true);
});
