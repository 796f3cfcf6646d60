import { expect, it } from "vitest";
import { reportOf } from "./storage-report.ts";

const SIZES = { sizeBytes: 1000, usedBytes: 100, hostBytes: 150, layers: 3 };

it("tells what is written by how its sandbox lives, and the rest by frozen layers", () => {
  const sandboxes = new Map([
    ["a", 10],
    ["b", 20],
    ["c", 1],
    ["d", 4],
  ]);
  const lives = new Map([
    ["a", "live"],
    ["b", "stopped"],
    ["c", "stopped"],
    ["d", "left"],
  ] as const);
  expect(reportOf({ ...SIZES, sandboxes }, lives)).toEqual({
    sizeBytes: 1000,
    usedBytes: 100,
    hostBytes: 150,
    live: { count: 1, bytes: 10 },
    stopped: { count: 2, bytes: 21 },
    left: { count: 1, bytes: 4 },
    frozen: { count: 3, bytes: 65 },
  });
});

it("tells no negative number while the kernel's figures are of two moments", () => {
  const report = reportOf({ ...SIZES, sandboxes: new Map([["a", 101]]) }, new Map([["a", "live"]]));
  expect(report.frozen).toEqual({ count: 3, bytes: 0 });
});
