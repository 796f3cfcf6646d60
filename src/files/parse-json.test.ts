import { expect, it } from "vitest";
import { parseJson } from "./parse-json.ts";

it("returns the value, or undefined for a text that is not JSON", () => {
  expect(parseJson('{"a":[1,null]}')).toEqual({ a: [1, null] });
  for (const text of ["", "{", "undefined", '{"a":1}x', "\u0000"]) expect(parseJson(text)).toBeUndefined();
});
