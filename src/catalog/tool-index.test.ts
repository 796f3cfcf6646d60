import { expect, it } from "vitest";
import type { Tool } from "./tool.ts";
import { ToolIndex } from "./tool-index.ts";

const tool = (name: string, description: string) => ({ name, title: name, toolset: "t", description }) as Tool;
const index = new ToolIndex([
  tool("run_command", "Runs a command. Waits."),
  tool("read_file", "Reads a file"),
  tool("git_log", "Shows the log"),
]);
const names = async (query: string, limit = 9, isWanted: (one: Tool) => boolean = () => true) =>
  (await index.search(query, limit, isWanted)).tools.map(({ name }) => name);

it("finds a tool by a word, by its beginning, and by a word with a slip", async () => {
  for (const query of ["command", "comm", "commond", "COMMAND"]) expect(await names(query), query).toEqual(["run_command"]);
  expect(await names("nothing")).toEqual([]);
});

it("takes no short word for another one", async () => {
  expect(await names("lag")).toEqual([]);
});

it("shows the first tools that are wanted if nothing is asked, and counts all", async () => {
  expect(await index.search(" ", 1, ({ name }) => name !== "run_command")).toMatchObject({ tools: [{ name: "read_file" }], total: 2 });
});

it("shows the first sentence of a description in one line, and at most 200 characters of it", async () => {
  const summaryOf = async (description: string) =>
    (await new ToolIndex([tool("a", description)]).search("", 1, () => true)).tools[0]?.summary;
  expect(await summaryOf("Runs a\n  command. Waits.")).toBe("Runs a command.");
  expect(await summaryOf("Reads v1.2 files! Yes.")).toBe("Reads v1.2 files!");
  expect(await summaryOf("no end")).toBe("no end");
  expect(await summaryOf("x".repeat(200))).toBe("x".repeat(200));
  expect(await summaryOf("x".repeat(201))).toBe(`${"x".repeat(197)}...`);
});

it("finds by the name before the title, the toolset and the description", async () => {
  const rows = ["description", "toolset", "title", "name"].map((field) => ({
    name: `by_${field}`,
    title: "t",
    toolset: "s",
    description: "d",
    [field]: "needle",
  }));
  const found = await new ToolIndex(rows as unknown as readonly Tool[]).search("needle", 9, () => true);
  expect(found.tools.map(({ name }) => name)).toEqual(["needle", "by_title", "by_toolset", "by_description"]);
});

it("gives the best so many of those that are wanted, with what a caller needs to ask on", async () => {
  const { tools, total } = await index.search("a", 1, ({ name }) => name !== "read_file");
  expect(total).toBeGreaterThanOrEqual(tools.length);
  expect((await index.search("log", 1, () => true)).tools).toEqual([
    { name: "git_log", title: "git_log", summary: "Shows the log", toolset: "t" },
  ]);
});
