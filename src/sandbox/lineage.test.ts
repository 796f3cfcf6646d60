import { expect, it } from "vitest";
import { type Lineage, lineageFrom, sharedState } from "./lineage.ts";

const state = (sandbox: string, at: number): Lineage[number] => ({ sandbox, at: new Date(at), layers: [`${sandbox}${at}`] });
const parent = { id: "p" };
const older = { id: "a", lineage: [state("p", 1)] };
const younger = { id: "b", lineage: [state("p", 2)] };
const grandchild = { id: "c", lineage: lineageFrom(state("a", 5), older.lineage) };

it.each([
  ["a fork and its parent", older, parent, ["p1"]],
  ["a parent and its fork", parent, younger, ["p2"]],
  ["two sisters", younger, older, ["p1"]],
  ["a fork of a fork and the first one", grandchild, parent, ["p1"]],
  ["a fork of a fork and its parent", older, grandchild, ["a5"]],
  ["an aunt", grandchild, younger, ["p1"]],
  ["a stranger", parent, { id: "x" }, undefined],
  ["itself", older, older, undefined],
])("finds the last state that %s have had", (_what, one, other, layers) => {
  expect(sharedState(one, other)).toEqual(layers);
});

it("forgets the oldest of many generations", () => {
  let lineage: Lineage = [];
  for (let at = 0; at < 100; at += 1) lineage = lineageFrom(state("s", at), lineage);
  expect([lineage.length, lineage[0]?.layers]).toEqual([64, ["s99"]]);
});
