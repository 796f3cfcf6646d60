import { expect, it } from "vitest";
import { BatchByKey } from "./batch-by-key.ts";

const signal = new AbortController().signal;

/** Work that lasts until the test ends it, in the order in which it began. */
function openWork() {
  const begun: { readonly items: readonly string[]; readonly end: (failure?: Error) => void }[] = [];
  const batches = new BatchByKey<string>(
    (_key, items) => new Promise((resolve, reject) => begun.push({ items, end: (failure) => (failure ? reject(failure) : resolve()) })),
  );
  return { batches, begun };
}

/** All that can go on without the work has gone on. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it("lets those share a piece of work that come before it begins, and no others", async () => {
  const { batches, begun } = openWork();
  const first = batches.run("a", { item: "one", signal });
  await settled();
  const later = ["two", "three"].map((item) => batches.run("a", { item, signal }));
  await settled();
  expect(begun.map(({ items }) => items)).toEqual([["one"]]);
  begun[0]!.end();
  await first;
  await settled();
  expect(begun.map(({ items }) => items)).toEqual([["one"], ["two", "three"]]);
  begun[1]!.end();
  await Promise.all(later);
});

it("does not let one key wait for another", async () => {
  const { batches, begun } = openWork();
  const both = [batches.run("a", { item: "one", signal }), batches.run("b", { item: "two", signal })];
  await settled();
  expect(begun).toHaveLength(2);
  for (const { end } of begun) end();
  await Promise.all(both);
});

it("gives a failure to all that share it, and goes on with the next piece", async () => {
  const { batches, begun } = openWork();
  const first = batches.run("a", { item: "one", signal });
  await settled();
  const next = batches.run("a", { item: "two", signal });
  begun[0]!.end(new Error("no"));
  await expect(first).rejects.toThrow("no");
  await settled();
  begun[1]!.end();
  await next;
});

it("lets a caller go when its signal aborts, and does nothing for callers that have all gone", async () => {
  const { batches, begun } = openWork();
  const first = batches.run("a", { item: "one", signal });
  await settled();
  const gone = new AbortController();
  const left = batches.run("a", { item: "two", signal: gone.signal });
  gone.abort(new Error("gone"));
  await expect(left).rejects.toThrow("gone");
  begun[0]!.end();
  await first;
  await settled();
  expect(begun).toHaveLength(1);
  await expect(batches.run("a", { item: "three", signal: gone.signal })).rejects.toThrow("gone");
});
