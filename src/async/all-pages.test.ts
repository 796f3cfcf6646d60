import { expect, it } from "vitest";
import { allPages, type Page } from "./all-pages.ts";

async function read(ask: (cursor: string | undefined) => Page<string>): Promise<readonly string[]> {
  const items: string[] = [];
  for await (const item of allPages(async (cursor) => ask(cursor))) items.push(item);
  return items;
}

it("reads page after page, and ends behind the last one", async () => {
  const next = new Map([
    ["", "1"],
    ["1", "2"],
  ]);
  expect(await read((cursor = "") => ({ items: [`of ${cursor}`], nextCursor: next.get(cursor) }))).toEqual(["of ", "of 1", "of 2"]);
});

it("asks no page a second time that names itself as the next one", async () => {
  const asked: unknown[] = [];
  const ask = (cursor: string | undefined): Page<string> => (asked.push(cursor), { items: [], nextCursor: "same" });
  await expect(read(ask)).rejects.toMatchObject({ code: "RESULT_TOO_LARGE" });
  expect(asked).toEqual([undefined, "same"]);
});
