import { expect, it } from "vitest";
import { HubLinks } from "./hub-links.ts";
import { toResult } from "./to-result.ts";
import { LOCAL } from "../../../sandbox/sandbox.ts";

const text = (at: number) => ({ type: "text", text: String(at) });
const many = (count: number) => ({ content: Array.from({ length: count }, (_, at) => text(at)) });
const keep = (uri: string): string => uri;

it("passes on so many blocks, and one that says how many more there were", () => {
  expect(toResult("any", many(1_000), keep).content).toEqual(many(1_000).content);
  const { content } = toResult("any", many(140_000), keep);
  expect(content.slice(0, 1_000)).toEqual(many(1_000).content);
  expect(content.slice(1_000)).toEqual([{ type: "text", text: "[139000 more parts of this answer are left out: 1000 are passed on]" }]);
});

it("asks for the caller's servers once for an answer, and not for what it leaves out", () => {
  let asked = 0;
  const links = new HubLinks(() => ((asked += 1), [{ label: "a", name: "a", uris: new Set(), templates: new Set() }]));
  const relink = links.relink(LOCAL, "a");
  let relinked = 0;
  const link = (at: number) => ({ type: "resource_link", uri: `x://${at}`, name: "x" });
  const content = Array.from({ length: 5_000 }, (_, at) => link(at));
  toResult("any", { content }, (uri) => ((relinked += 1), relink(uri)));
  expect([asked, relinked]).toEqual([1, 1_000]);
});

it("says of a block with very many values that it has them", () => {
  const block = { ...text(1), _meta: Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`k${at}`, at])) };
  expect(toResult("any", { content: [block, text(2)] }, keep).content).toEqual([
    { type: "text", text: "[A part of the answer of any has too many values]" },
    text(2),
  ]);
});
