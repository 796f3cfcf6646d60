import { expect, it } from "vitest";
import { parseJson } from "./parse-json.ts";

it("gives the value, or undefined for a text that is no JSON", () => {
  expect(parseJson('{"a":[1,null]}')).toEqual({ a: [1, null] });
  for (const text of ["", "{", "undefined", '{"a":1}x', "\u0000"]) expect(parseJson(text)).toBeUndefined();
});
