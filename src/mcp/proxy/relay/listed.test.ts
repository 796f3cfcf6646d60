import { expect, it } from "vitest";
import { definitionOf } from "./listed.ts";

it.each([
  ["tools/call", { name: "a", uri: "x:1" }, "tools/a"],
  ["prompts/get", { name: "a" }, "prompts/a"],
  ["resources/read", { uri: "x:1", name: "a" }, "resources/x:1"],
  ["completion/complete", { ref: { type: "ref/prompt", name: "a" } }, "prompts/a"],
  ["completion/complete", { ref: { type: "ref/resource", uri: "x:{a}" } }, "templates/x:{a}"],
  ["completion/complete", {}, "undefined/undefined"],
  ["ping", { name: "a" }, "undefined/undefined"],
])("finds what %s with %j uses: %s", (method, params, used) => {
  const { list, name } = definitionOf(method, params) ?? {};
  expect(`${list}/${name}`).toBe(used);
});
