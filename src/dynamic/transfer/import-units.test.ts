import { expect, it } from "vitest";
import { BelljarError } from "../../errors.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import { type UnitLife, UNITS_MAX } from "../unit-life.ts";
import type { UnitSpec } from "../unit.ts";
import type { UnitDetail } from "../wire/unit-schema.ts";
import type { FoundUnit } from "./found-unit.ts";
import { importUnits, type ImportOptions, type ImportOutcome } from "./import-units.ts";

const SPEC: UnitSpec = { language: "python", code: "x = 1" };
const OPTIONS: ImportOptions = { updates: false, publish: true, signal: new AbortController().signal };

/** Takes up two units whose spec is the same. */
async function outcomes(life: Partial<UnitLife>, options: Partial<ImportOptions> = {}): Promise<readonly ImportOutcome[]> {
  const units = (async function* (): AsyncGenerator<FoundUnit> {
    for (const name of ["one", "two"]) yield { name, found: { kind: "changed", spec: SPEC } };
  })();
  const told: ImportOutcome[] = [];
  for await (const one of importUnits(life as UnitLife, LOCAL, units, { ...OPTIONS, ...options })) told.push(one);
  return told;
}

const refusing = (code: "TOOL_STORE_UNAVAILABLE" | "QUOTA_EXCEEDED") => (): Promise<never> => Promise.reject(new BelljarError(code, "no"));
const listing =
  (length: number): UnitLife["list"] =>
  async () => ({ tools: Array.from({ length }, () => ({}) as UnitDetail) });

it.each([
  ["live", 2, []],
  ["live", 1, ["one", "two"]],
  ["disabled", 2, ["one", "two"]],
  ["draft", 2, ["one", "two"]],
] as const)("publishes what is the same if callers do not have it: %s, version %i of 2", async (state, version, expected) => {
  const published: string[] = [];
  const life: Partial<UnitLife> = {
    get: async (_principal, name) => ({ ...SPEC, name, version, newest: 2, state }) as UnitDetail,
    publish: async (_principal, name) => (published.push(name), {} as UnitDetail),
  };
  const told = (outcome: string) => ["one", "two"].map((name) => ({ name, outcome }));
  expect(await outcomes(life, { updates: true })).toEqual(told(expected.length > 0 ? "published" : "unchanged"));
  expect(published).toEqual(expected);
  expect(await outcomes(life, { updates: true, publish: false })).toEqual(told("unchanged"));
});

it("stops where no other unit could be taken up: without the store, and where the owner has no room", async () => {
  await expect(outcomes({ add: refusing("TOOL_STORE_UNAVAILABLE") })).rejects.toMatchObject({ code: "TOOL_STORE_UNAVAILABLE" });
  const full = { add: refusing("QUOTA_EXCEEDED"), list: listing(UNITS_MAX) };
  await expect(outcomes(full)).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
});

it("goes on after another quota, and with updates of an owner who has no room", async () => {
  const refused = [{ outcome: "refused" }, { outcome: "refused" }];
  const add = refusing("QUOTA_EXCEEDED");
  expect(await outcomes({ add, list: listing(UNITS_MAX - 1) })).toMatchObject(refused);
  const get = (): Promise<never> => Promise.reject(new BelljarError("TOOL_NOT_FOUND", "none"));
  expect(await outcomes({ add, get, list: listing(UNITS_MAX) }, { updates: true })).toMatchObject(refused);
});
