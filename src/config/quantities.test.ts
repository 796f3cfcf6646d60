import { expect, it } from "vitest";
import { formatDuration, toMilliseconds } from "./duration.ts";
import { formatSize, toBytes } from "./size.ts";

it.each([
  ["512m", 2 ** 29],
  ["2g", 2 ** 31],
  ["2GiB", 2 ** 31],
  ["1.5k", 1536],
  ["17", 17],
])("reads the size %s", (text, bytes) => {
  expect(toBytes(text)).toBe(bytes);
});

it.each(["", "lots", "-1", "2 g", "2x", "0", "0.1", "1e3", "9999999t"])("takes %j for no size", (text) => {
  expect(toBytes(text)).toBeUndefined();
});

it.each(["", "30", "0s", "1w", "-1s", "1 h"])("takes %j for no time", (text) => {
  expect(toMilliseconds(text)).toBeUndefined();
});

it("writes sizes and times as it reads them", () => {
  for (const bytes of [1, 1000, 1024, 1536, 2 ** 31, 5 * 2 ** 40]) expect(toBytes(formatSize(bytes))).toBe(bytes);
  for (const ms of [1, 1500, 60_000, 5_400_000, 86_400_000]) expect(toMilliseconds(formatDuration(ms))).toBe(ms);
  expect([formatSize(2 ** 31), formatSize(1536), formatDuration(5_400_000), formatDuration(604_800_000)]).toEqual([
    "2g",
    "1536",
    "90m",
    "7d",
  ]);
});
