import { expect, it } from "vitest";
import { copyTarget } from "./copy-target.ts";

it.each([
  ["/b", "/b"],
  ["/b/", "/b/name"],
  ["/b/.", "/b/name"],
  ["/folder", "/folder/name"],
  [".", "name"],
  ["", "name"],
  ["/", "/name"],
  ["b.", "b."],
])("a copy of `name` to %j lands at %j", async (to, target) => {
  expect(await copyTarget(to, "name", async (path) => path === "/folder")).toBe(target);
});
