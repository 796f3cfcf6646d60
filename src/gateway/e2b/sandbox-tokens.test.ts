import { expect, it } from "vitest";
import { createSandboxTokens } from "./sandbox-tokens.ts";

const KEY = Buffer.alloc(32, 1);
const tokens = createSandboxTokens(KEY);
const ID = "a1b2c3d4e5f6g7h8i9j0";

it("makes the same token of the same key, kind and id, and another one of any other", () => {
  const token = tokens.of("access", ID);
  expect(token).toMatch(/^e2ba_a1b2c3d4e5f6g7h8i9j0_[\w-]{43}$/);
  expect(createSandboxTokens(KEY).of("access", ID)).toBe(token);
  const others = [tokens.of("traffic", ID), tokens.of("access", "b"), createSandboxTokens(Buffer.alloc(32, 2)).of("access", ID)];
  expect(new Set([token, ...others]).size).toBe(4);
});

it("knows its own tokens, by their kind and for their id alone", () => {
  const token = tokens.of("access", ID);
  expect([tokens.idOf("access", token), tokens.isValid("access", ID, token)]).toEqual([ID, true]);
  expect([tokens.idOf("traffic", token), tokens.isValid("traffic", ID, token), tokens.isValid("access", "b", token)]).toEqual([
    undefined,
    false,
    false,
  ]);
  const foreign = createSandboxTokens(Buffer.alloc(32, 2)).of("access", ID);
  const cut = token.slice(0, -1);
  const turned = token.replace(/.$/, (last) => (last === "A" ? "B" : "A"));
  // What no HMAC of ours could be is looked at no further.
  for (const wrong of [foreign, cut, turned, "", "e2ba__", `e2ba_${ID}_${"é".repeat(43)}`, token.replace("e2ba", "e2bt")])
    expect([tokens.idOf("access", wrong), tokens.isValid("access", ID, wrong)], wrong).toEqual([undefined, false]);
});
