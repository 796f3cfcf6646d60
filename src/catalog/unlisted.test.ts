import { expect, it } from "vitest";
import { tellUnlisted } from "./tell-unlisted.ts";
import { toolTokens } from "./tool-tokens.ts";
import type { Tool } from "./tool.ts";
import { type Listing, listWithin } from "./unlisted.ts";

const annotations = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };
const schema = { type: "object" } as const;

function tool(server: string, name: string, characters = 0): Tool {
  return {
    name,
    title: name,
    description: "x".repeat(characters),
    toolset: "mcp",
    origin: "proxied",
    from: { server, tool: name },
    annotations,
    input: { schema, parse: (value) => ({ value }) },
    run: () => expect.unreachable(),
  };
}

const listings: Readonly<Record<string, Listing>> = { every: "all", none: "search" };
const listingOf = ({ from }: Tool): Listing => listings[from?.server ?? ""] ?? "auto";
const shown = (tools: readonly Tool[], room: Parameters<typeof listWithin>[2]) =>
  listWithin(tools, listingOf, room).flatMap(({ name, isUnlisted }) => (isUnlisted ? [] : [name]));

it("counts a quarter of a tool's characters", () => {
  expect(toolTokens(tool("a", "name", 379))).toBe((4 + 379 + JSON.stringify(schema).length) / 4);
});

it("shows as many as there is room for, in their order", () => {
  const tools = ["a", "b", "c"].map((name) => tool("one", name));
  expect(shown(tools, { tools: 2, tokens: 8_000 })).toEqual(["a", "b"]);
  expect(shown(tools, { tools: 0, tokens: 8_000 })).toEqual([]);
});

it("lets a tool that is too large spoil the place of no other", () => {
  const tools = [
    tool("one", "a", 4_000),
    tool("one", "large", 40_000),
    tool("one", "b", 4_000),
    tool("one", "c", 24_400),
    tool("one", "d"),
  ];
  expect(shown(tools, { tools: 40, tokens: 8_000 })).toEqual(["a", "b", "d"]);
});

it("shows all of a server whose entry says so, which take the room of others, and none of one for searches alone", () => {
  const tools = [tool("one", "a"), tool("none", "n"), ...["x", "y", "z"].map((name) => tool("every", name, 8_000)), tool("one", "b")];
  expect(shown(tools, { tools: 4, tokens: 7_000 })).toEqual(["a", "x", "y", "z"]);
  expect(shown(tools, { tools: 4, tokens: 5_000 })).toEqual(["x", "y", "z"]);
});

it("gives the same tools the same objects, so that their list is made once", () => {
  const tools = ["a", "b", "c"].map((name) => tool("one", name));
  const room = { tools: 1, tokens: 8_000 };
  const [first, second] = [listWithin(tools, listingOf, room), listWithin(tools, listingOf, room)];
  expect(first.every((one, index) => one === second[index])).toBe(true);
  expect(first).not.toEqual(tools);
});

it("tells how many are left to a search, and from where, in one short line", () => {
  const tools = ["a", "b", "c"].map((name) => tool("one", name));
  expect(tellUnlisted(tools, tools)).toBeUndefined();
  const more = [...tools, tool("two\nthree", "d")];
  expect(tellUnlisted(more, [tools[0]!])).toBe(
    "3 tools of MCP servers are in no list: find them with search_tools, then describe_tool and call_tool. They are of: one 2, two_three 1.",
  );
  const many = Array.from({ length: 1_000 }, (_, index) => tool(`${"s".repeat(100)}${index}`, "t"));
  expect(
    tellUnlisted(
      many.map((one, index) => ({ ...one, from: { server: `${index}${"s".repeat(100)}`, tool: "t" } })),
      [],
    )?.length,
  ).toBeLessThan(700);
});
