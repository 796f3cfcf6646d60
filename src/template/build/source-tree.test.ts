import { expect, it } from "vitest";
import { digestAll, readText } from "./source-tree.ts";

it("of a .dockerignore that grows no more is read than it may have", async () => {
  let reads = 0;
  const growing = async function* () {
    for (;;) yield Buffer.alloc(10_000, `${(reads += 1)}`);
  };
  await expect(readText(growing())).rejects.toMatchObject({ code: "FILE_TOO_LARGE" });
  expect(reads).toBe(7);
});

it("one digest stands for many in any order, and for no others, and is made in many turns", async () => {
  const signal = new AbortController().signal;
  const pairs = Array.from({ length: 5_000 }, (_, index) => [`file-${index}`, String(index % 7)] as const);
  const digest = await digestAll(new Map(pairs), signal);
  expect(await digestAll(new Map(pairs.toReversed()), signal)).toBe(digest);
  for (const others of [pairs.slice(1), [["file-0", "1"] as const, ...pairs.slice(1)], [["file-00", "0"] as const, ...pairs.slice(1)]])
    expect(await digestAll(new Map(others), signal)).not.toBe(digest);
  let turns = 0;
  const count = () => ((turns += 1), (timer = setImmediate(count)));
  let timer = setImmediate(count);
  await digestAll(new Map(pairs), signal);
  clearImmediate(timer);
  expect(turns).toBeGreaterThan(10);
});
