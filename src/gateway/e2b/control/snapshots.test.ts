import { expect, it } from "vitest";
import { parseReference } from "./snapshots.ts";

it.each([
  ["name", "name"],
  ["name:default", "name"],
  ["team/name:default", "name"],
  ["name:v1", "name:v1"],
  ["team/name:v1", "name:v1"],
  ["a2b4c6d8e0f2g4h6i8j0:default", "a2b4c6d8e0f2g4h6i8j0"],
  ["", undefined],
  ["../x", undefined],
  ["a/b/c", undefined],
  ["Name", undefined],
  ["name:", undefined],
  ["name:v 1", undefined],
  [`${"n".repeat(64)}`, undefined],
])("reads %j as %j", (text, reference) => {
  expect(parseReference(text)).toBe(reference);
});
