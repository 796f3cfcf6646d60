import { expect, it } from "vitest";
import { parseSecretOptions } from "./secret-options.ts";

it("reads variables, names and hosts", () => {
  expect(parseSecretOptions(["KEY=openai@api.openai.com", "TOKEN=gh@github.com+api.github.com:8443"])).toEqual({
    KEY: { secret: "openai", hosts: ["api.openai.com"] },
    TOKEN: { secret: "gh", hosts: ["github.com", "api.github.com:8443"] },
  });
});

it.each([["KEY"], ["KEY=openai"], ["=openai@host"], ["KEY=@host"], ["KEY=openai@"], ["KEY=a@x", "KEY=b@y"]])("refuses %j", (...texts) => {
  expect(() => parseSecretOptions(texts)).toThrow(expect.objectContaining({ code: "USAGE" }));
});
