import { describe, expect, it } from "vitest";
import { countTokens, hasManyTokens, JsonTokens, TOKENS_MAX } from "./json-tokens.ts";

const count = (text: string): number => countTokens(Buffer.from(text));

describe("the tokens of JSON", () => {
  it.each([
    ["1", 0],
    ["[1,2]", 3],
    ["[[],{}]", 7],
    ['["a,b","\\"[,",""]', 7],
    ['["\\\\",1]', 4],
  ])("of %s are counted, and those in texts are none", (text, tokens) => {
    expect(count(text)).toBe(tokens);
  });

  it("count as often as the bound says for an entry near the top, and once below", () => {
    const often = (text: string): number => countTokens(Buffer.from(text), { max: 1_000, entry: 25 });
    expect([often('{"a":1}'), count('{"a":1}')]).toEqual([28, 4]);
    expect(often('{"a":{"b":{"c":1}}}')).toBe(3 * 28);
    expect(often('[[[{"a":1}]]]')).toBe(3 + 4 + 3);
  });

  it("are the same wherever the bytes are cut", () => {
    const bytes = Buffer.from('{"a\\"":["x\\\\",{"é":1}]}');
    for (let size = 1; size < bytes.length; size += 1) {
      const tokens = new JsonTokens();
      for (let at = 0; at < bytes.length; at += size) tokens.add(bytes.subarray(at, at + size));
      expect(tokens.count).toBe(countTokens(bytes));
    }
  });

  it("behind a line that ends in a text are counted", () => {
    expect(count('"\n[[]]')).toBe(5);
    expect(count('"\\\n[[]]')).toBe(5);
  });

  it("are too many for small values, and not for one text", () => {
    expect(hasManyTokens(Buffer.from(`[${"[],".repeat(TOKENS_MAX)}0]`))).toBe(true);
    expect(hasManyTokens(Buffer.from(`"${'[],\\"'.repeat(TOKENS_MAX)}"`))).toBe(false);
  });
});
