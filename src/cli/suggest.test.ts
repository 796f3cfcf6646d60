import { describe, expect, it } from "vitest";
import { suggest } from "./suggest.ts";

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
