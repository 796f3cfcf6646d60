import { expect, it } from "vitest";
import { createSeenTokens } from "./seen-tokens.ts";

const alice = { id: "oauth:alice", name: "alice" };

it("knows what tokens grant until they expire", () => {
  let nowMs = 0;
  const seen = createSeenTokens(() => nowMs);
  seen.note({ ...alice, grants: { network: "none" } }, new Date(10));
  seen.note({ ...alice, grants: {} }, new Date(5));
  expect(seen.grantsOf(alice.id)).toEqual([{ network: "none" }, {}]);
  expect(seen.grantsOf("oauth:bob")).toEqual([]);
  nowMs = 5;
  expect(seen.grantsOf(alice.id)).toEqual([{ network: "none" }]);
  nowMs = 10;
  expect(seen.grantsOf(alice.id)).toEqual([]);
});

it("keeps the latest end of tokens that grant the same", () => {
  let nowMs = 0;
  const seen = createSeenTokens(() => nowMs);
  for (const end of [5, 10, 7]) seen.note({ ...alice, grants: {} }, new Date(end));
  nowMs = 9;
  expect(seen.grantsOf(alice.id)).toEqual([{}]);
});

it("forgets the owners that were seen longest ago", () => {
  const seen = createSeenTokens(() => 0);
  for (let index = 0; index <= 10_000; index += 1) seen.note({ id: `oauth:${index}`, name: "one", grants: {} }, new Date(5));
  expect(seen.grantsOf("oauth:0")).toEqual([]);
  expect(seen.grantsOf("oauth:1")).toEqual([{}]);
});
