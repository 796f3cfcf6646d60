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
