import { mkdtemp, open, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { expect, it } from "vitest";
import { copyContent } from "./copy-content.ts";

async function copy(chunks: readonly Buffer[], limit = Number.POSITIVE_INFINITY) {
  const folder = await mkdtemp(join(tmpdir(), "bj-content-"));
  try {
    const path = join(folder, "file");
    const counts: number[] = [];
    await using file = await open(path, "wx");
    const size = await copyContent(Readable.from(chunks), file, limit, (count) => counts.push(count));
    return { size, counts, content: await readFile(path), blocks: (await stat(path)).blocks };
  } finally {
    await rm(folder, { recursive: true });
  }
}

it("writes all chunks in their order, and counts them", async () => {
  const { size, counts, content } = await copy([Buffer.from("ab"), Buffer.from("cde")]);
  expect([size, counts, content.toString()]).toEqual([5, [2, 3], "abcde"]);
});

it("leaves holes for zeroes, at the end too", async () => {
  const zeroes = Buffer.alloc(65_536);
  const { content, blocks } = await copy([zeroes, Buffer.from("x"), zeroes, zeroes]);
  expect(content).toEqual(Buffer.concat([zeroes, Buffer.from("x"), zeroes, zeroes]));
  expect(blocks * 512).toBeLessThan(65_536);
  const long = Buffer.alloc(65_537);
  expect((await copy([long])).content).toEqual(long);
});

it("takes as many bytes as were announced, and refuses one more", async () => {
  const chunks = [Buffer.from("ab"), Buffer.from("c")];
  expect((await copy(chunks, 3)).size).toBe(3);
  await expect(copy(chunks, 2)).rejects.toMatchObject({ code: "FILE_TOO_LARGE" });
  expect((await copy([])).content).toHaveLength(0);
});
