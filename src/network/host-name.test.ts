import { expect, it } from "vitest";
import { toCanonicalHost } from "./host-name.ts";

it.each([
  ["GOOD.test.", "good.test"],
  ["[::1]", "::1"],
  ["0::1", "::1"],
  ["0x7f.1", "127.0.0.1"],
])("spells %s as %s", (text, canonical) => {
  expect(toCanonicalHost(text)).toBe(canonical);
});

it.each(["[::1", "::1]", "[good.test]", "[", "]", "[]", "", "a..b", "good.test:443", "a b"])("takes %j for no host", (text) => {
  expect(toCanonicalHost(text)).toBeUndefined();
});
