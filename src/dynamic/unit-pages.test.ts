import { expect, it } from "vitest";
import { LOCAL } from "../sandbox/sandbox.ts";
import { allUnits, assertUnitLimit, fitUnits, parseUnitCursor, toUnitCursor } from "./unit-pages.ts";
import type { UnitInfo, UnitPage } from "./wire/unit-schema.ts";

const unit = (name: string, bytes = 0): UnitInfo =>
  ({ name, tools: [{ name, description: "x".repeat(bytes), inputSchema: {} }] }) as unknown as UnitInfo;

it("gives back the name that a cursor stands for, and takes nothing else", () => {
  for (const name of ["a", "météo.1", "名".repeat(100)]) expect(parseUnitCursor(toUnitCursor(name))).toBe(name);
  for (const cursor of ["", "!", "a", "_w", "YQ=="]) expect(() => parseUnitCursor(cursor)).toThrow("unknown");
  for (const limit of [0, -1, 0.5, Number.NaN]) expect(() => assertUnitLimit(limit)).toThrow("whole number");
});

it("fits into a page what is not too long, and at least one", () => {
  const long = unit("long", 9 * 1_048_576);
  expect(fitUnits([unit("a"), unit("b")])).toHaveLength(2);
  expect(fitUnits([unit("a"), long, unit("b")])).toEqual([unit("a")]);
  expect(fitUnits([long, unit("a")])).toEqual([long]);
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
