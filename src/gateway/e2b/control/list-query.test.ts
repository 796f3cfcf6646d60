import { expect, it } from "vitest";
import { listQuery } from "./list-query.ts";

it.each([
  // As it is after the URL of the request was decoded.
  ["a%2520b=c%2526d", [["a b", "c&d"]]],
  [
    "a=b&c=d",
    [
      ["a", "b"],
      ["c", "d"],
    ],
  ],
  [
    "a=b&a=c",
    [
      ["a", "b"],
      ["a", "c"],
    ],
  ],
  ["k%253D=%2525", [["k=", "%"]]],
  ["a", [["a", ""]]],
  ["", []],
])("reads the metadata %s", (text, pairs) => {
  expect(listQuery.parse({ metadata: text }).metadata).toEqual(pairs);
});

it.each([
  { metadata: "a=%25" },
  { metadata: "a=%25ZZ" },
  { metadata: "%25E0%25A4=x" },
  { metadata: ["a=b", "c=d"] },
  { state: "stopped" },
  { state: "running,ended" },
  { state: "" },
  { limit: "0" },
  { limit: "-1" },
  { limit: "1.5" },
  { limit: "x" },
  { order: "up" },
  { startedAfter: "yesterday" },
  { startedAfter: "2026-01-01" },
  { template: "base:latest" },
  { nextToken: "" },
])("refuses %j", (query) => {
  expect(listQuery.safeParse(query).success).toBe(false);
});

it("has E2B's defaults, and never more than a hundred entries", () => {
  expect(listQuery.parse({})).toEqual({ order: "desc", limit: 100 });
  expect(listQuery.parse({ limit: "5000", state: "running,paused" })).toMatchObject({ limit: 100, state: ["running", "paused"] });
  expect(listQuery.parse({ state: ["paused"], limit: "7" })).toMatchObject({ limit: 7, state: ["paused"] });
});
