import { expect, it } from "vitest";
import type { Instances } from "../instances.ts";
import type { ServerInstance } from "../server-instance.ts";
import { type Listed, ServerLists } from "./server-lists.ts";

it("tells of the first that it leaves out of each list", async () => {
  const large = { name: "large", title: "x".repeat(600_000) };
  const tools = [large, { ...large, name: "larger" }, { name: "a" }];
  const request = async (method: string) => (method === "tools/list" ? { tools } : { prompts: [large] });
  const session = { capabilities: { tools: {}, prompts: {} }, request };
  const use = async (_key: string, _signal: AbortSignal, work: (instance: unknown) => Promise<void>): Promise<void> => work({ session });
  const instances = { use, keyOf: () => undefined } as unknown as Instances<ServerInstance>;
  const problems: string[] = [];
  const report = (problem: string): void => void problems.push(problem);
  let resolve: (listed: Listed) => void = () => undefined;
  const promise = new Promise<Listed>((done) => (resolve = done));
  await using _lists = new ServerLists({
    key: "lists",
    name: "any",
    instances,
    take: async (one) => resolve(one),
    report,
    stateChanged: () => undefined,
  });
  const listed = await promise;
  expect(listed).toMatchObject({ tools: [{ name: "a" }], prompts: [] });
  expect(problems).toEqual(
    ["tools", "prompts"].map((field): unknown => expect.stringMatching(new RegExp(`"any" lists .*"large".* its ${field} .* is left out`))),
  );
});
