import { expect, it } from "vitest";
import { parseArguments } from "./arguments.ts";
import type { Tool } from "./tool.ts";

const tool = (problems: number) =>
  ({ name: "t", input: { parse: () => ({ problems: Array.from({ length: problems }, (_, at) => `field ${at}`) }) } }) as unknown as Tool;
const lines = async (problems: number): Promise<readonly string[]> => {
  try {
    await parseArguments(tool(problems), {});
    return [];
  } catch (error) {
    return (error as Error).message.split("\n").slice(1);
  }
};

it("lists each problem up to twenty, and then how many more there are", async () => {
  expect(await lines(2)).toEqual(["- field 0", "- field 1"]);
  expect(await lines(20)).toHaveLength(20);
  expect((await lines(23)).slice(19)).toEqual(["- field 19", "- and 3 more"]);
});
