import { expect, it } from "vitest";
import { LOCAL } from "../sandbox/sandbox.ts";
import { concerns } from "./caller.ts";
import { fixedTools } from "./tool-source.ts";
import type { Tool } from "./tool.ts";

const tool = (name: string, description = "") => ({ name, description }) as Tool;
const refused = (words: string) =>
  expect.objectContaining({ code: "ARGUMENTS_INVALID", message: expect.stringContaining(words) as string }) as Error;

it("has its tools for everybody, in their order, and never another", () => {
  const tools = [tool("b"), tool("a")];
  const source = fixedTools(tools);
  expect(source.list({ principal: LOCAL })).toEqual(tools);
  expect([source.find({ principal: LOCAL }, "a"), source.find({ principal: LOCAL }, "c")]).toEqual([tools[1], undefined]);
  expect(source.onChange(() => undefined)()).toBeUndefined();
});

it("takes names that every client takes", () => {
  for (const name of ["a", "A-b_9", "a".repeat(40)]) expect(fixedTools([tool(name)]).find({ principal: LOCAL }, name)).toBeDefined();
  for (const name of ["", "a b", "a.b", "é", "a".repeat(41), "a\n"]) expect(() => fixedTools([tool(name)])).toThrow(refused("must match"));
});

it("refuses a second tool of a name, and a description of 2,048 characters", () => {
  expect(() => fixedTools([tool("a"), tool("b"), tool("a")])).toThrow(refused('a tool "a" already'));
  expect(fixedTools([tool("a", "x".repeat(2_047))]).list({ principal: LOCAL })).toHaveLength(1);
  expect(() => fixedTools([tool("a", "x".repeat(2_048))])).toThrow(refused("2048 characters or more"));
});

it("tells a change to its owner, and one of everybody's to all", () => {
  expect([concerns(undefined, LOCAL), concerns(LOCAL.id, LOCAL), concerns("other", LOCAL)]).toEqual([true, true, false]);
});
