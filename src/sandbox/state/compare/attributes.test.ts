import { expect, it } from "vitest";
import { carriedAttributes, hasSameAttributes, mergeAttributes } from "./attributes.ts";

const having = (values: Readonly<Record<string, string>>) => ({
  attributes: new Map(Object.entries(values).map(([name, value]) => [name, Buffer.from(value)])),
});
const [RED, BLUE, GREEN] = [having({ "user.colour": "red" }), having({ "user.colour": "blue" }), having({ "user.colour": "green" })];
const UNTOLD = { hasUntoldAttributes: true } as const;

it.each([
  [{}, {}, true],
  [{}, having({}), true],
  [RED, having({ "user.colour": "red" }), true],
  [RED, BLUE, false],
  [RED, {}, false],
  [RED, having({ "user.color": "red" }), false],
  [RED, having({ "user.colour": "red", "user.more": "" }), false],
  [UNTOLD, UNTOLD, false],
])("attributes are the same by their names and values (%#)", (one, other, same) => {
  expect([hasSameAttributes(one, other), hasSameAttributes(other, one)]).toEqual([same, same]);
});

it.each([
  { base: RED, ours: RED, theirs: BLUE, gets: BLUE },
  { base: RED, ours: BLUE, theirs: RED, gets: BLUE },
  { base: RED, ours: BLUE, theirs: having({ "user.colour": "blue" }), gets: BLUE },
  { base: RED, ours: BLUE, theirs: GREEN, gets: undefined },
  { base: RED, ours: UNTOLD, theirs: GREEN, gets: undefined },
  { base: RED, ours: RED, theirs: {}, gets: {} },
])("what one side changed is taken (%#)", ({ gets, ...sides }) => {
  expect(mergeAttributes<object>(sides)).toEqual(gets);
});

it("names that are no text, and attributes that nobody told, are not carried", () => {
  expect([...carriedAttributes({ attributes: new Map([["user.\xc3\xa4", Buffer.from("a")]]) })]).toEqual([["user.ä", Buffer.from("a")]]);
  expect(() => carriedAttributes(having({ "user.\xff": "" }))).toThrow(expect.objectContaining({ code: "NOT_SUPPORTED" }));
  expect(() => carriedAttributes(UNTOLD)).toThrow(expect.objectContaining({ code: "NOT_SUPPORTED" }));
});
