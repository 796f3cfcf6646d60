import * as fc from "fast-check";
import { expect, it } from "vitest";
import { findAll, findRun } from "./find-all.ts";

const word = (maxLength: number) => fc.string({ unit: fc.constantFrom("a", "b"), minLength: 1, maxLength });

it("finds what indexOf finds", () => {
  fc.assert(
    fc.property(word(40), word(6), (text, wanted) => {
      const found: number[] = [];
      findAll(Buffer.from(text), Buffer.from(wanted), (place) => found.push(place));
      const expected: number[] = [];
      for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) expected.push(at);
      expect(found).toEqual(expected);
    }),
    { numRuns: 2_000 },
  );
});

it("finds overlapping runs of numbers from a position on, until `found` returns true", () => {
  const find = (from: number, last: number): readonly number[] => {
    const found: number[] = [];
    findRun(Int32Array.from([1, 1, 1, 2, 1, 1]), Int32Array.from([1, 1]), from, (place) => found.push(place) > 0 && place >= last);
    return found;
  };
  expect(find(0, 9)).toEqual([0, 1, 4]);
  expect(find(1, 9)).toEqual([1, 4]);
  expect(find(0, 1)).toEqual([0, 1]);
});
