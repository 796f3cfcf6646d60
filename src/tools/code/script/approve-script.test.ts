import { expect, it } from "vitest";
import type { CodeTool, ToolContext } from "../../../catalog/tool.ts";
import { approveScript } from "./approve-script.ts";
import type { Described } from "./describe-tools.ts";

const tool = (name: string, more: Partial<CodeTool>) => ({ name, ...more }) as CodeTool;

it.each<[string, Partial<CodeTool>, boolean]>([
  ["of a server of its caller's", { needsApproval: true, serverOwner: "token:ann" }, false],
  ["of somebody else's server", { needsApproval: true, serverOwner: "local" }, true],
])("has calls of a tool %s approved at the machine alone: %o", async (_what, more, atMachine) => {
  const asked: unknown[] = [];
  const context = {
    principal: { id: "token:ann", name: "ann", grants: {} },
    approve: async (...given: unknown[]) => void asked.push(given[2]),
  } as Partial<ToolContext> as ToolContext;
  const tools = [tool("mine", { needsApproval: true }), tool("other", more)];
  const described = { tools, paths: tools.map(({ name }) => [name, name] as const) } as Partial<Described> as Described;
  await approveScript(context, described, { language: "javascript", code: "", calls: { other: 1, mine: 1 } });
  expect(asked).toEqual([{ atMachine }]);
});
