import { expect, it } from "vitest";
import { keyValuesOf } from "./key-values.ts";

const NONE = { startTimeoutMs: undefined, callTimeoutMs: undefined };

it("knows keys by the names of their variables and options, and by their shapes", () => {
  const target = {
    ...NONE,
    kind: "stdio" as const,
    name: "one",
    command: "x",
    args: ["--api-key", "argument-1", "--token=argument-2", "SECRET=argument-3", "ghp_0123456789", "--verbose", "plain-text", "--keyless"],
    env: {},
    ownEnv: { GITHUB_TOKEN: "variable-1", ENDPOINT: "https://example.com", OTHER: "sk-0123456789abcdef", SHORT_KEY: "abc" },
    cwd: undefined,
  };
  expect(keyValuesOf(target)).toEqual(["variable-1", "sk-0123456789abcdef", "argument-1", "argument-2", "argument-3", "ghp_0123456789"]);
});

it("knows those of headers, without their scheme", () => {
  const headers = { Authorization: "Bearer header-value-1", "X-Api-Key": "header-value-2", Accept: "application/json" };
  const target = { ...NONE, kind: "http" as const, name: "one", url: new URL("https://example.com"), headers };
  expect(keyValuesOf(target)).toEqual(["header-value-1", "header-value-2"]);
});
