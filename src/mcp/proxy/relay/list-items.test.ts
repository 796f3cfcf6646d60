import { expect, it } from "vitest";
import type { JsonObject } from "../../client/json-object.ts";
import type { ServerSession } from "../../client/server-session.ts";
import { listItems } from "./list-items.ts";

const TOOLS = { method: "tools/list", field: "tools", capability: "tools", key: "name" } as const;

/** What is taken of a page, and the names of what is left out. */
async function list(tools: readonly unknown[]) {
  const session = { capabilities: { tools: {} }, request: async (): Promise<JsonObject> => ({ tools }) } as unknown as ServerSession;
  const left: (string | undefined)[] = [];
  const taken = await listItems(session, TOOLS, { signal: AbortSignal.timeout(60_000), leftOut: (name) => left.push(name) });
  return { taken: taken.map(({ name }) => name), left };
}

const properties = (count: number): JsonObject => Object.fromEntries(Array.from({ length: count }, (_, number) => [`p${number}`, true]));

it("leaves out an item with very many values, and tells its name", async () => {
  // The item, its name, its schema, and the properties.
  const most = { name: "most", inputSchema: properties(9_997) };
  expect(await list([most, { name: "more", inputSchema: properties(9_998) }])).toEqual({ taken: ["most"], left: ["more"] });
});

it("leaves out an item of very many bytes, or levels, and what has no name", async () => {
  const empty = Buffer.byteLength(JSON.stringify({ name: "a", title: "" }));
  const most = { name: "a", title: "x".repeat(524_288 - empty) };
  const deep = { name: "deep", inputSchema: JSON.parse(`${"[".repeat(600)}${"]".repeat(600)}`) as unknown };
  expect(await list([most, { name: "b", title: `${most.title}x` }, deep, { title: "none" }, "b"])).toEqual({
    taken: ["a"],
    left: ["b", "deep"],
  });
});

it("takes each name once, as it came first", async () => {
  expect(await list([{ name: "a" }, { name: "a", title: "later" }])).toEqual({ taken: ["a"], left: [] });
});
