import { expect, it } from "vitest";
import { createOwnedTools } from "../../test/support/owned-tools.ts";
import { LOCAL, type Principal } from "../sandbox/sandbox.ts";
import { ToolLists } from "./tool-lists.ts";
import { ToolShelves } from "./tool-shelves.ts";
import { fixedTools } from "./tool-source.ts";
import type { Tool, ToolDescription } from "./tool.ts";

const ANNOTATIONS = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };
const tool = (name: string, title = name) =>
  ({ name, title, description: "", toolset: "t", annotations: ANNOTATIONS, input: { schema: { type: "object" } } }) as Tool;
const somebody = (id: string): Principal => ({ id, name: id });
const [own, other] = [somebody("a"), somebody("b")];
const namesOf = (tools: readonly Tool[]) => tools.map(({ name }) => name);

it("gives a name to the earlier source", () => {
  const [first, second] = [tool("a", "first"), tool("a", "second")];
  const shelves = new ToolShelves([fixedTools([first]), fixedTools([tool("b"), second])]);
  expect(shelves.of(LOCAL).tools).toEqual([first, tool("b")]);
  expect(shelves.find({ principal: LOCAL }, "a")).toBe(first);
  expect(shelves.find({ principal: LOCAL }, "c")).toBeUndefined();
});

it("asks for what another name stands for only where no source has the name itself", () => {
  const [stands, exact] = [tool("stands"), tool("a")];
  const other = { ...fixedTools([stands]), findOther: () => stands };
  const shelves = new ToolShelves([other, fixedTools([exact])]);
  expect(shelves.find({ principal: LOCAL }, "a")).toBe(exact);
  expect(shelves.find({ principal: LOCAL }, "b")).toBe(stands);
  expect(shelves.of(LOCAL).tools).toEqual([stands, exact]);
});

it("shares a shelf among callers of the same tools, and gives one with tools of its own another", () => {
  const owned = createOwnedTools();
  const shelves = new ToolShelves([fixedTools([tool("a")]), owned]);
  owned.set([tool("own")], own.id);
  expect(shelves.of(other)).toBe(shelves.of(LOCAL));
  expect(namesOf(shelves.of(own).tools)).toEqual(["a", "own"]);
  expect(namesOf(shelves.of(other).tools)).toEqual(["a"]);
});

it("makes the shelf of a changed owner anew, and of nobody else", () => {
  const owned = createOwnedTools();
  const shelves = new ToolShelves([fixedTools([tool("a")]), owned]);
  const told: (string | undefined)[] = [];
  const listener = (ownerId?: string) => told.push(ownerId);
  const stop = shelves.onChange(listener);
  shelves.onChange(listener);
  owned.set([tool("own")], own.id);
  const before = shelves.of(other);
  expect(namesOf(shelves.of(own).tools)).toEqual(["a", "own"]);
  owned.set([tool("new")], own.id);
  expect(namesOf(shelves.of(own).tools)).toEqual(["a", "new"]);
  expect(shelves.of(other)).toBe(before);
  expect(told).toEqual(["a", "a", "a", "a"]);
  stop();
  owned.set([tool("all")]);
  expect(told).toEqual(["a", "a", "a", "a", undefined]);
  expect(namesOf(shelves.of(other).tools)).toEqual(["a", "all"]);
});

it("remembers 512 callers, and forgets the one that was asked for longest ago", () => {
  const owned = createOwnedTools();
  const shelves = new ToolShelves([owned]);
  const callers = Array.from({ length: 513 }, (_, index) => somebody(String(index)));
  // Each has a tool of its own, so that no two share a shelf.
  for (const { id } of callers) owned.set([tool(`t${id}`)], id);
  const [first, second, ...rest] = callers.map((principal) => ({ principal, shelf: () => shelves.of(principal) }));
  const shelfOfFirst = first?.shelf();
  const shelfOfSecond = second?.shelf();
  for (const { shelf } of rest.slice(0, 510)) shelf();
  expect(first?.shelf()).toBe(shelfOfFirst);
  rest.at(-1)?.shelf();
  expect(first?.shelf()).toBe(shelfOfFirst);
  expect(second?.shelf()).not.toBe(shelfOfSecond);
});

function listsOf(count: number): ToolLists {
  const shelves = new ToolShelves([fixedTools(Array.from({ length: count }, (_, index) => tool(`t${index}`)))]);
  return new ToolLists({ shelves, scopeOf: () => ({ toolsets: "all" }), isDefault: () => true });
}

it.each([
  [0, [0]],
  [1, [1]],
  [1_000, [1_000]],
  [1_001, [1_000, 1]],
  [2_000, [1_000, 1_000]],
])("gives %i tools in pages of a thousand", (count, sizes) => {
  const lists = listsOf(count);
  const found: string[][] = [];
  for (let cursor: string | undefined = "0"; cursor !== undefined;) {
    const { bytes, nextCursor } = lists.page(LOCAL, cursor);
    found.push((JSON.parse(bytes.toString()) as ToolDescription[]).map(({ name }) => name));
    cursor = nextCursor;
  }
  expect(found.map((names) => names.length)).toEqual(sizes);
  expect(found.flat()).toEqual(lists.shown(LOCAL).map(({ name }) => name));
  expect(lists.page(LOCAL).bytes).toBe(lists.page(LOCAL, "0").bytes);
});

it("refuses a cursor that no list gave", () => {
  const refused = expect.objectContaining({ code: "ARGUMENTS_INVALID" }) as Error;
  for (const cursor of ["", "1", "-1", "x", "0x0", "0 ", "1000000"]) expect(() => listsOf(1).page(LOCAL, cursor), cursor).toThrow(refused);
  expect(() => listsOf(1_001).page(LOCAL, "2")).toThrow(refused);
  expect(listsOf(1_001).page(LOCAL, "000001").bytes.length).toBeGreaterThan(2);
});
