import { describe, expect, it } from "vitest";
import { parseCores, parseCount, parseDuration, parsePairs, parseSecretOptions, parseSize } from "./values.ts";

const usage = expect.objectContaining({ code: "USAGE" });

describe("values of options", () => {
  it.each([
    ["512", 512],
    ["512m", 512 * 2 ** 20],
    ["1.5G", 1.5 * 2 ** 30],
    ["10KiB", 10_240],
  ])("reads the size %s", (text, bytes) => {
    expect(parseSize("memory", text)).toBe(bytes);
  });

  it.each(["", "0", "m", "-1", "1x", "1e9", "9999999999g"])('refuses the size "%s"', (text) => {
    expect(() => parseSize("memory", text)).toThrow(usage);
  });

  it.each([
    ["500ms", 500],
    ["30s", 30_000],
    ["1.5h", 5_400_000],
  ])("reads the time %s", (text, ms) => {
    expect(parseDuration("timeout", text)).toBe(ms);
  });

  it.each(["", "30", "0s", "-1s", "s"])('refuses the time "%s"', (text) => {
    expect(() => parseDuration("timeout", text)).toThrow(usage);
  });

  it("names an option with its dashes, and another argument as the usage has it", () => {
    expect(() => parseDuration("timeout", "5")).toThrow('--timeout "5" is not a time');
    expect(() => parseDuration("TIME", "5")).toThrow(/^TIME "5" is not a time/);
  });

  it("parses counts and cores", () => {
    expect([parseCount("pids", "64"), parseCores("cpus", "0.5"), parseCores("cpus", ".5")]).toEqual([64, 0.5, 0.5]);
    expect(() => parseCount("pids", "1.5")).toThrow(usage);
    expect(() => parseCores("cpus", "0")).toThrow(usage);
    expect(() => parseCores("cpus", "Infinity")).toThrow(usage);
  });

  it("takes the value of a bare name from the environment, and refuses an unset name", () => {
    expect(parsePairs("env", ["A=1=2", "B", "C="], { B: "two" })).toEqual({ A: "1=2", B: "two", C: "" });
    expect(() => parsePairs("env", ["B"], {})).toThrow(usage);
    expect(() => parsePairs("metadata", ["B"])).toThrow(usage);
    expect(() => parsePairs("metadata", ["=1"])).toThrow(usage);
  });
});

it("parses variables, names and hosts", () => {
  expect(parseSecretOptions(["KEY=openai@api.openai.com", "TOKEN=gh@github.com+api.github.com:8443"], "belljar tool add --help")).toEqual({
    KEY: { secret: "openai", hosts: ["api.openai.com"] },
    TOKEN: { secret: "gh", hosts: ["github.com", "api.github.com:8443"] },
  });
});

it.each([["KEY"], ["KEY=openai"], ["=openai@host"], ["KEY=@host"], ["KEY=openai@"], ["KEY=a@x", "KEY=b@y"]])("refuses %j", (...texts) => {
  expect(() => parseSecretOptions(texts, "belljar tool add --help")).toThrow(
    expect.objectContaining({ code: "USAGE", message: expect.stringMatching(/\nSee: belljar tool add --help$/) }),
  );
});
