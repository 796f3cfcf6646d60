import { expect, it } from "vitest";
import { foldersAbove, fromAbove } from "./folders-above.ts";

it("finds each folder above once", () => {
  expect([...foldersAbove(["a/b/c", "a/b/d", "e", "a/f/g"])]).toEqual(["a/b", "a", "a/f"]);
});

it("answers by the topmost folder above, and not by the path itself", () => {
  const find = fromAbove((folder) => (folder.endsWith("x") ? folder : undefined));
  expect(["x", "x/a", "x/a/x/b", "a/x/b", "a/b"].map(find)).toEqual([undefined, "x", "x", "a/x", undefined]);
});

it("asks once about each folder, however many lie below it", () => {
  const deep = "a/".repeat(1_000);
  let asked = 0;
  const find = fromAbove(() => {
    asked += 1;
    return undefined;
  });
  const keys = Array.from({ length: 10_000 }, (_, index) => `${deep}${index}`);
  for (const key of keys) find(key);
  expect(asked).toBe(1_000);
  expect(foldersAbove(keys).size).toBe(1_000);
});
