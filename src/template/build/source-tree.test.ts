import { expect, it } from "vitest";
import { readText } from "./source-tree.ts";

it("of a .dockerignore that grows no more is read than it may have", async () => {
  let reads = 0;
  const growing = async function* () {
    for (;;) yield Buffer.alloc(10_000, `${(reads += 1)}`);
  };
  await expect(readText(growing())).rejects.toMatchObject({ code: "FILE_TOO_LARGE" });
  expect(reads).toBe(7);
});
