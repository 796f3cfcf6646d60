import { expect, it } from "vitest";
import type { JsonObject } from "../../client/json-object.ts";
import type { ServerSession } from "../../client/server-session.ts";
import { ListBudget, ListShare } from "./list-budget.ts";
import { listItems } from "./list-items.ts";

const TOOLS = { method: "tools/list", field: "tools", capability: "tools", key: "name" } as const;

/** What is taken of a page, and the names of what is left out. */
async function list(tools: readonly unknown[], share = new ListShare(new ListBudget(), "one")) {
  const session = { capabilities: { tools: {} }, request: async (): Promise<JsonObject> => ({ tools }) } as unknown as ServerSession;
  const left: (string | undefined)[] = [];
  const options = { signal: AbortSignal.timeout(60_000), leftOut: (name: string | undefined) => void left.push(name) };
  const taken = await share.replace((take) => listItems(session, TOOLS, { ...options, take }));
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

const large = (count: number): readonly JsonObject[] =>
  Array.from({ length: count }, (_, at) => ({ name: `t${at}`, values: Array(9_000).fill(0) }));
const TOO_LARGE = { code: "RESULT_TOO_LARGE" };

it("takes of one server, and of all servers of an owner, what is kept of them at most, small values too", async () => {
  const budget = new ListBudget();
  const [one, two, three] = ["one", "two", "three"].map((name) => new ListShare(budget, name));
  const fits = large(50);
  await expect(list(large(60), one)).rejects.toMatchObject(TOO_LARGE);
  await list(fits, one);
  await list(fits, two);
  await expect(list(fits, three)).rejects.toMatchObject(TOO_LARGE);
  // What it lists anew counts in the place of what it listed before, and a failure changes nothing.
  await list(fits, one);
  await expect(list(large(60), one)).rejects.toMatchObject(TOO_LARGE);
  await expect(list(fits, three)).rejects.toMatchObject(TOO_LARGE);
  await list([], two);
  await list(fits, three);
  one?.[Symbol.dispose]();
  await list(fits, two);
});
