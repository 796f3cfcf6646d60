import { expect, it } from "vitest";
import { LOCAL } from "../sandbox/sandbox.ts";
import type { UnitListOptions } from "./unit-life.ts";
import { allUnits, readUnitPage } from "./unit-pages.ts";
import type { UnitHead } from "./unit.ts";
import type { UnitInfo, UnitPage } from "./wire/unit-schema.ts";

const unit = (name: string, bytes = 0): UnitInfo =>
  ({ name, tools: [{ name, description: "x".repeat(bytes), inputSchema: {} }] }) as unknown as UnitInfo;

const headOf = (name: string): UnitHead => ({ owner: "local", name, revision: 1, versions: [], isDisabled: false, isShared: false });

/** The names of a page, and the cursor of the next one. */
async function page(infos: readonly UnitInfo[], options: UnitListOptions = {}): Promise<readonly [readonly string[], string | undefined]> {
  const heads = infos.map(({ name }) => headOf(name));
  const { tools, nextCursor } = await readUnitPage(heads, options, async ({ name }) => {
    const info = infos.find((one) => one.name === name);
    return info ?? Promise.reject(new TypeError("damaged"));
  });
  return [tools.map(({ name }) => name), nextCursor];
}

it("goes on behind the name that a cursor stands for, and takes no other cursor", async () => {
  const names = ["a", "météo.1", "名".repeat(100)];
  const seen: string[] = [];
  for (let cursor: string | undefined; ;) {
    const [[name], next] = await page(
      names.toReversed().map((one) => unit(one)),
      { limit: 1, cursor },
    );
    seen.push(name ?? "");
    if (next === undefined) break;
    cursor = next;
  }
  expect(seen).toEqual(names);
  for (const cursor of ["", "!", "a", "_w", "YQ=="]) await expect(page([], { cursor })).rejects.toThrow("unknown");
  for (const limit of [0, -1, 0.5, Number.NaN]) await expect(page([], { limit })).rejects.toThrow("whole number");
});

it("fits into a page what is not too long, and at least one", async () => {
  const long = unit("b", 9 * 1_048_576);
  expect(await page([unit("a"), unit("b")])).toEqual([["a", "b"], undefined]);
  const [names, cursor] = await page([unit("a"), long, unit("c")]);
  expect(names).toEqual(["a"]);
  expect(await page([unit("a"), long, unit("c")], { cursor })).toEqual([["b"], expect.any(String)]);
});

it("leaves out what cannot be read, and goes on behind it", async () => {
  const heads = ["a", "b", "c"].map(headOf);
  const read = async ({ name }: UnitHead): Promise<UnitInfo> => (name === "b" ? Promise.reject(new TypeError("damaged")) : unit(name));
  const { tools, nextCursor } = await readUnitPage(heads, { limit: 2 }, read);
  expect(tools.map(({ name }) => name)).toEqual(["a"]);
  expect((await readUnitPage(heads, { cursor: nextCursor }, read)).tools.map(({ name }) => name)).toEqual(["c"]);
});

it("reads all pages, and no list that does not end", async () => {
  const pages = new Map<string | undefined, UnitPage>([
    [undefined, { tools: [unit("a"), unit("b")], nextCursor: "1" }],
    ["1", { tools: [unit("c")], problems: [{ name: "d", message: "no tool" }] }],
  ]);
  const { tools: all, problems } = await allUnits(
    { list: async (_principal, { cursor } = {}) => pages.get(cursor) ?? { tools: [] } },
    LOCAL,
  );
  expect(all.map(({ name }) => name)).toEqual(["a", "b", "c"]);
  expect(problems).toEqual([{ name: "d", message: "no tool" }]);
  const endless = allUnits({ list: async () => ({ tools: [], nextCursor: "1" }) }, LOCAL);
  await expect(endless).rejects.toMatchObject({ code: "RESULT_TOO_LARGE" });
});
