import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import * as wire from "../../src/protocol/wire.ts";

const HEADER = readFileSync(join(import.meta.dirname, "../../native/common/protocol.h"), "utf8");

/** The names and numbers of both sides, in one flat spelling. */
function headerNumbers(): Record<string, number> {
  const defines = [...HEADER.matchAll(/^#define (\w+) (\d+)u$/gm)];
  const members = [...HEADER.matchAll(/^ {2}([A-Z_0-9]+) = (\d+),$/gm)];
  return Object.fromEntries([...defines, ...members].map(([, name, number]) => [name, Number(number)]));
}

function wireNumbers(): Record<string, number> {
  const numbers: Record<string, number> = {};
  for (const [name, value] of Object.entries(wire)) {
    if (typeof value === "number") numbers[name] = value;
    else
      for (const [member, number] of Object.entries(value)) numbers[`${name}_${member}`] = typeof number === "number" ? number : number.id;
  }
  return numbers;
}

it("the numbers of wire.ts and native/common/protocol.h are the same", () => {
  expect(headerNumbers()).toEqual(wireNumbers());
});

it("every field of the wire has a width, and every number is its own", () => {
  const ids = Object.values(wire.TAG).map((tag) => tag.id);
  expect(new Set(ids).size).toBe(ids.length);
});
