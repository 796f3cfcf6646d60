import { expect, it } from "vitest";
import { canGive } from "./uri-template.ts";

it.each([
  ["a://{id}", "a://1", true],
  ["a://{id}", "b://1", false],
  ["a://{id}/end", "a://1/end", true],
  ["a://{id}/end", "a://1/en", false],
  ["a://x/{id}/x", "a://x/x", false],
  ["a://{x}/b/{y}/c", "a://1/b/2/c", true],
  ["a://{x}/b/{y}/c", "a://1/c/2/c", false],
  ["a://fixed", "a://fixed", true],
  ["a://fixed", "a://fixed2", false],
  ["a://{+path}{?q}", "a://x/y?q=1", true],
  ["{a}{b}{c}", "anything", true],
])("%s can give %s: %s", (template, uri, can) => {
  expect(canGive(template, uri)).toBe(can);
});
