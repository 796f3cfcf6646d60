import { expect, it } from "vitest";
import { isBelow } from "./is-below.ts";

it("holds a folder and what lies in it, and no neighbour", () => {
  for (const [path, folder] of [
    ["/a", "/a"],
    ["/a/b/c", "/a"],
    ["/", "/"],
    ["/a", "/"],
  ] as const)
    expect(isBelow(path, folder)).toBe(true);
  for (const [path, folder] of [
    ["/ab", "/a"],
    ["/", "/a"],
    ["/b/a", "/a"],
  ] as const)
    expect(isBelow(path, folder)).toBe(false);
});
