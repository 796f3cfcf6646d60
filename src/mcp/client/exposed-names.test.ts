import { expect, it } from "vitest";
import { exposeNames } from "./exposed-names.ts";

it("keeps _ and -, and replaces what models do not take", () => {
  const tools = [
    { server: "my_db", tool: "run-query" },
    { server: "a b", tool: "x/y.z" },
  ];
  expect(exposeNames(tools)).toEqual(["my_db__run-query", "a_b__x_y_z"]);
});

it("gives no two tools one name, and each the same one in every order", () => {
  const tools = [
    { server: "a", tool: "b__c" },
    { server: "a__b", tool: "c" },
    { server: "a", tool: "x".repeat(100) },
    { server: "a", tool: `${"x".repeat(100)}y` },
  ];
  const names = exposeNames(tools);
  expect(new Set(names).size).toBe(4);
  expect(names.every((name) => /^[A-Za-z0-9_-]{1,64}$/.test(name))).toBe(true);
  expect(exposeNames(tools.toReversed())).toEqual(names.toReversed());
});

it("gives no tool the name that another one has because of its hash", () => {
  const victim = { server: "a__b", tool: "x" };
  const [, hashed = ""] = exposeNames([{ server: "a", tool: "b__x" }, victim]);
  const taken = hashed.slice("a__".length);
  const names = exposeNames([{ server: "a", tool: "b__x" }, { server: "a", tool: taken }, victim]);
  expect(new Set(names).size).toBe(3);
  expect(names[2]).toBe(hashed);
});
