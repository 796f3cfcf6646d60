import { expect, it } from "vitest";
import { cutPage, parsePageToken, toPageToken } from "./page-token.ts";

const id = (letter: string): string => letter.repeat(20);
const at = (ms: number): Date => new Date(1_700_000_000_000 + ms);
const ALL = [
  { at: at(1), id: id("b") },
  { at: at(3), id: id("d") },
  { at: at(1), id: id("a") },
  { at: at(2), id: id("c") },
];

it("shows each item once, page by page, in both orders", () => {
  for (const [order, expected] of [
    ["asc", "abcd"],
    ["desc", "dcba"],
  ] as const) {
    const seen: string[] = [];
    let token: string | undefined;
    do {
      const page = cutPage(ALL, { order, limit: 1, token });
      seen.push(...page.items.map((item) => item.id.slice(0, 1)));
      token = page.nextToken;
    } while (token !== undefined);
    expect(seen.join("")).toBe(expected);
  }
});

it("goes on behind a place whose item is gone", () => {
  const { nextToken: token } = cutPage(ALL, { order: "desc", limit: 2, token: undefined });
  const without = ALL.filter((item) => item.id !== id("c"));
  expect(cutPage(without, { order: "desc", limit: 9, token }).items.map((item) => item.id)).toEqual([id("b"), id("a")]);
});

it("takes no other token", () => {
  const good = toPageToken({ at: at(0), id: id("a") }, "asc");
  expect(parsePageToken(good, "asc")).toEqual({ at: at(0), id: id("a") });
  const made = (text: string): string => Buffer.from(text).toString("base64url");
  for (const token of [
    "",
    "x",
    "%",
    made("now__b"),
    made(`9999__${id("a")}__asc`),
    made(`${at(0).toISOString()}__../x__asc`),
    "a".repeat(5_000),
  ])
    expect(() => parsePageToken(token, "asc"), token.slice(0, 40)).toThrow("Invalid next token");
  expect(() => parsePageToken(good, "desc"), "of the other order").toThrow("Invalid next token");
});
