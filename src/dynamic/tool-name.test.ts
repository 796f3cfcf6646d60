import * as fc from "fast-check";
import { expect, it } from "vitest";
import { isReservedName, toToolName } from "./tool-name.ts";

it.each([
  ["get_weather", "get_weather"],
  ["memo.create", "memo_create"],
  ["getHostFaultCause", "getHostFaultCause"],
])("names %s %s", (given, name) => {
  expect(toToolName(given)).toBe(name);
});

it.each([
  ["übersicht", /^ubersicht_[0-9a-f]{6}$/],
  ["straße", /^strasse_[0-9a-f]{6}$/],
  ["天気", /^__[0-9a-f]{6}$/],
  ["a b/c", /^a_b_c_[0-9a-f]{6}$/],
  ["x".repeat(41), /^x{33}_[0-9a-f]{6}$/],
])("names %s with a hash", (given, name) => {
  expect(toToolName(given)).toMatch(name);
});

it("keeps names apart that look alike", () => {
  expect(toToolName("über")).not.toBe(toToolName("uber"));
  expect(toToolName("天気")).not.toBe(toToolName("地図"));
});

it("gives any text a name that callers may have", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", minLength: 1, maxLength: 200 }), (text) => {
      expect(toToolName(text)).toMatch(/^[A-Za-z0-9_-]{1,40}$/);
    }),
  );
});

it.each(["mcp_x", "sandbox_x", "browser_open", "git_x", "npm_x"])("reserves %s", (name) => {
  expect(isReservedName(name)).toBe(true);
});

it("reserves no other beginning", () => {
  expect(["mcp", "memo_create", "gitx", "my_git_x"].filter(isReservedName)).toEqual([]);
});
