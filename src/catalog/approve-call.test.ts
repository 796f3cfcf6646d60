import { expect, it } from "vitest";
import * as z from "zod";
import type { CallApprovals, NamedCall } from "../approvals/call-approvals.ts";
import type { AuditedCall } from "../audit/audit.ts";
import { BelljarError } from "../errors.ts";
import { LOCAL, type Sandbox } from "../sandbox/sandbox.ts";
import { createCatalog } from "./catalog.ts";
import type { CallClient, ClientAnswer } from "./question.ts";
import { unreachable } from "./question.ts";
import { textResult } from "./tool-result.ts";
import { fixedTools } from "./tool-source.ts";
import { defineTool, type InnerCallOptions, type Tool } from "./tool.ts";

const annotations = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true };
const yes: ClientAnswer = { action: "accept", content: { approve: true } };

function openLab({ answer, given = [] }: { readonly answer?: ClientAnswer; readonly given?: NamedCall[] } = {}) {
  const asked: string[] = [];
  const waiting: string[] = [];
  const ran: unknown[] = [];
  const audited: AuditedCall[] = [];
  const tool = (name: string, run: Tool<{ id?: number | undefined }>["run"], more: Partial<Tool> = {}): Tool => ({
    ...defineTool({
      name,
      title: name,
      description: "",
      toolset: "mcp",
      annotations,
      input: z.strictObject({ id: z.number().optional(), text: z.string().optional() }),
      run: async (context, args) => textResult((await run(context, args)).value, ""),
    }),
    ...more,
  });
  const remove = tool("remove", async (_context, args) => (ran.push(args), textResult("removed")), {
    needsApproval: true,
    origin: "proxied",
    from: { server: "memo", tool: "re\u202emove" },
  });
  const calls = (options?: InnerCallOptions) =>
    tool(options ? "foreign" : "outer", (context) => context.call("remove", { id: 1 }, options));
  const approved = tool("approved", (context) => context.call("remove", { id: 1 }, { isForeign: true, isApproved: true }));
  const held = { needsApproval: true, origin: "proxied" } as const;
  const shared = tool("shared", async () => textResult("shared"), { ...held, serverOwner: "another" });
  const own = tool("own", async () => textResult("own"), { ...held, serverOwner: LOCAL.id });
  const approves = tool("approves", async (context) => {
    await context.approve({}, "a script", { atMachine: true });
    return textResult("approves");
  });
  const within = tool("within", (context) => context.call("outer", {}, { isApproved: true }));
  const approvals: CallApprovals = {
    take: async (call) => given.some((one) => JSON.stringify(one) === JSON.stringify(call)) && given.splice(0, 1).length === 1,
    wait: async (_call, shown) => (waiting.push(shown), "0123456789abcdef"),
  };
  const client: CallClient = {
    ask: async ({ message }) => {
      asked.push(message);
      return answer ?? Promise.reject(unreachable());
    },
  };
  const unused = (): Promise<never> => Promise.reject(new BelljarError("INTERNAL", "unused"));
  const catalog = createCatalog({
    sources: [fixedTools([remove, calls(), calls({ isForeign: true }), approved, within, shared, own, approves])],
    sandboxes: { get: unused, getStarted: unused, info: unused, default: async () => ({ sandbox: {} as Sandbox, created: false }) },
    defaultSandbox: () => ({ name: "default", options: {} }),
    approvals,
    audit: { assertWritable: () => undefined, record: (call) => void audited.push(call), written: async () => undefined },
  });
  const call = (name: string, args: object = { id: 1 }) =>
    catalog.call(LOCAL, name, args, { signal: new AbortController().signal, client });
  return { asked, waiting, ran, audited, call };
}

it("asks the person at the client before the call, who is shown all of it", async () => {
  const lab = openLab({ answer: yes });
  expect(await lab.call("remove")).toMatchObject({ value: "removed" });
  expect(lab.asked).toEqual([
    'A model wants to call the tool remove, which is "re\\u{202e}move" of the MCP server "memo". Its arguments:\n{\n  "id": 1\n}',
  ]);
  expect(lab.audited).toMatchObject([{ tool: "remove", outcome: "ok", approval: "asked" }]);
});

it.each<[string, ClientAnswer]>([
  ["declines", { action: "decline" }],
  ["says no", { action: "accept", content: { approve: false } }],
])("does not make a call if the person %s", async (_what, answer) => {
  const lab = openLab({ answer });
  expect(await lab.call("remove")).toMatchObject({ isError: true, value: { code: "FORBIDDEN" } });
  expect(lab.ran).toEqual([]);
});

it("has a call wait if its question was cancelled, as clients without a person do", async () => {
  const lab = openLab({ answer: { action: "cancel" } });
  const refused = await lab.call("remove");
  expect(refused).toMatchObject({ isError: true, value: { code: "APPROVAL_NEEDED" } });
  expect(refused.content).toMatchObject([{ text: expect.stringContaining("belljar approval give 0123456789abcdef") }]);
  expect([lab.ran, lab.waiting, lab.asked]).toEqual([[], [expect.stringContaining('"id": 1')], [expect.any(String)]]);
});

it("says how to approve it where nobody can be asked, and makes the same call once then", async () => {
  const given: NamedCall[] = [];
  const lab = openLab({ given });
  const refused = await lab.call("remove");
  expect(refused).toMatchObject({ isError: true, value: { code: "APPROVAL_NEEDED", retryable: true } });
  expect(refused.content).toMatchObject([
    { text: expect.stringContaining("belljar approval give 0123456789abcdef, then make exactly this call again") },
  ]);
  expect([lab.ran, lab.waiting]).toEqual([[], [expect.stringContaining('"id": 1')]]);
  given.push({ principal: LOCAL.id, tool: "remove", arguments: { id: 1 } });
  expect(await lab.call("remove", { id: 2 })).toMatchObject({ value: { code: "APPROVAL_NEEDED" } });
  expect(await lab.call("remove")).toMatchObject({ value: "removed" });
  expect(await lab.call("remove")).toMatchObject({ value: { code: "APPROVAL_NEEDED" } });
  expect(lab.audited.map(({ outcome, approval }) => [outcome, approval])).toEqual([
    ["APPROVAL_NEEDED", undefined],
    ["APPROVAL_NEEDED", undefined],
    ["ok", "given"],
    ["APPROVAL_NEEDED", undefined],
  ]);
});

it("shows no client what is too long for it, but keeps all of it for the command line", async () => {
  const lab = openLab({ answer: yes });
  const text = `${"x".repeat(4_000)}the end`;
  expect(await lab.call("remove", { text })).toMatchObject({ value: { code: "APPROVAL_NEEDED" } });
  expect([lab.asked, lab.ran]).toEqual([[], []]);
  expect(lab.waiting[0]).toContain("the end");
});

it("asks no client about a tool of somebody else's server: its holder of a token would answer for the owner", async () => {
  const lab = openLab({ answer: yes });
  for (const name of ["shared", "approves"])
    expect(await lab.call(name)).toMatchObject({ value: { code: "APPROVAL_NEEDED", message: expect.stringContaining("approval give") } });
  expect([lab.asked, lab.ran, lab.waiting.length]).toEqual([[], [], 2]);
  expect(await lab.call("own")).toMatchObject({ value: "own" });
});

it("asks about no call that is refused anyway", async () => {
  const lab = openLab({ answer: yes });
  expect(await lab.call("remove", { id: "x" })).toMatchObject({ value: { code: "ARGUMENTS_INVALID" } });
  expect(lab.asked).toEqual([]);
});

it("makes no call of a user's code by an approval that was given to the caller, and keeps none for a person", async () => {
  const given: NamedCall[] = [{ principal: LOCAL.id, tool: "remove", arguments: { id: 1 } }];
  const lab = openLab({ given });
  expect(await lab.call("foreign", {})).toMatchObject({
    value: { code: "APPROVAL_NEEDED", message: expect.stringContaining("none that the code of a tool makes can be") },
  });
  expect([lab.ran, lab.waiting]).toEqual([[], []]);
  expect(await lab.call("remove"), "it is still the caller's").toMatchObject({ value: "removed" });
});

it("asks for a call inside another one, unless that was approved with it", async () => {
  const lab = openLab({ answer: yes });
  expect(await lab.call("outer", {})).toMatchObject({ value: "removed" });
  expect(lab.asked).toHaveLength(1);
  expect(await lab.call("foreign", {}), "a user's code reaches no person").toMatchObject({ value: { code: "APPROVAL_NEEDED" } });
  expect(await lab.call("within", {}), "what was approved approves nothing else").toMatchObject({ value: "removed" });
  expect(lab.asked).toHaveLength(2);
  expect(await lab.call("approved", {})).toMatchObject({ value: "removed" });
  expect(lab.asked).toHaveLength(2);
  expect(lab.audited.filter(({ tool }) => tool === "remove").map(({ approval }) => approval)).toEqual([
    "asked",
    undefined,
    "asked",
    "outer",
  ]);
});
