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

  it("count many times for an entry that whoever reads a message looks at, and once below", () => {
    expect(count('{"a":1}')).toBe(1 + 1 + 25 + 1);
    expect(count('{"a":{"b":{"c":1}}}')).toBe(3 * 28);
    expect(count('[[[{"a":1}]]]')).toBe(3 + 1 + 1 + 1 + 1 + 3);
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
