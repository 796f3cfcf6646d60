import { describe, expect, it } from "vitest";
import { slipOf, suggest } from "./suggest.ts";

const NAMES = ["list", "kill", "stop", "start", "network", "exec", "cp"];

describe("suggest", () => {
  it.each([
    ["lsit", "list"],
    ["lis", "list"],
    ["exce", "exec"],
    ["netwrok", "network"],
    ["strat", "start"],
    ["netw", "network"],
    ["pc", "cp"],
  ])("takes %j for %j", (text, meant) => {
    expect(suggest(text, NAMES)).toBe(meant);
  });

  it.each(["fly", "x", "", "st", "listeners"])("guesses nothing for %j", (text) => {
    expect(suggest(text, ["list", "start", "status"])).toBeUndefined();
  });
});

describe("slipOf", () => {
  it.each([
    ["netwrok", "network"],
    ["Network", "network"],
    ["lsit", "list"],
    ["lists", "list"],
    ["CPs", "cp"],
  ])("takes %j for %j", (key, meant) => {
    expect(slipOf(key, NAMES)).toBe(meant);
  });

  it.each(["list", "host", "tcp", "cpu", "last_used", "", "net", "execute", "x".repeat(1_000_000)])("takes %j for nothing else", (key) => {
    expect(slipOf(key, NAMES)).toBeUndefined();
  });
});
