import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AuditedCall } from "../../../src/audit/audit.ts";
import { LOCAL, type Principal } from "../../../src/sandbox/sandbox.ts";
import { openToolsLab, textOf, type ToolsLab } from "../../support/tools-lab.ts";

const OTHER: Principal = { id: "other", name: "other" };
const calls: AuditedCall[] = [];
let lab: ToolsLab;
beforeAll(async () => {
  lab = await openToolsLab({ record: (call) => void calls.push(call) });
  await lab.add("@mcp.tool\ndef add(a: int, b: int) -> int:\n    return a + b\n");
}, 120_000);
afterAll(() => lab[Symbol.asyncDispose](), 60_000);

const PYTHON = `
@mcp.tool
async def NAME(name: str, ctx: Context, times: int = 1) -> str:
    answers = []
    for _ in range(times):
        try:
            answers.append((await ctx.call(name, {"a": 20, "b": 22})).text)
        except Exception as error:
            answers.append("%s %s: %s" % (type(error).__name__, error.code, error))
    return "\\n".join(answers[-2:])
`;
const JAVASCRIPT = `export default defineTool({
  description: "",
  input: { type: "object", properties: { name: { type: "string" }, times: { type: "integer", default: 1 } } },
  async run({ name, times = 1 }, context) {
    const answers = [];
    const called = Array.from({ length: times }, () => context.call(name, { a: 20, b: 22 }));
    for (const one of called)
      answers.push(await one.then(({ text }) => text, (error) => error.name + " " + error.code + ": " + error.message));
    return answers.slice(-2).join("\\n");
  },
});`;

it.each(["call", "session"] as const)("calls itself no deeper than calls may be nested (reuse: %s)", async (reuse) => {
  const code = "@mcp.tool\nasync def deep(ctx: Context) -> str:\n    return (await ctx.call('deep')).text\n";
  await lab.add(code, { name: "deep", calls: ["deep"], reuse });
  const before = calls.length;
  const client = { id: "client", ask: () => expect.unreachable() };
  expect(textOf(await lab.call("deep", {}, { client }))).toContain("FORBIDDEN: Calls are nested deeper than 8");
  expect(calls.slice(before).map(({ tool }) => tool)).toEqual(Array.from({ length: 9 }, () => "deep"));
  await lab.tools.remove(LOCAL, "deep");
});

it("ends the call that a code makes when the code's own time is over", async () => {
  const slow = "@mcp.tool\ndef slow() -> str:\n    import time\n    time.sleep(600)\n    return ''\n";
  await lab.add(slow, { name: "slow" });
  const code = "@mcp.tool\nasync def hurried(ctx: Context) -> str:\n    return (await ctx.call('slow')).text\n";
  await lab.add(code, { name: "hurried", calls: ["slow"], timeoutMs: 3_000 });
  expect(textOf(await lab.call("hurried"))).toContain("EXEC_TIMEOUT");
  expect(calls.slice(-2)).toMatchObject([
    { tool: "slow", outcome: "CANCELLED" },
    { tool: "hurried", outcome: "EXEC_TIMEOUT" },
  ]);
});

it("calls nothing while its tests run", async () => {
  const code = "@mcp.tool\nasync def tested(ctx: Context) -> str:\n    return (await ctx.call('add', {'a': 1, 'b': 1})).text\n";
  const tests = [{ arguments: {}, expect: { error: "ToolError: NOT_SUPPORTED" } }];
  expect(await lab.add(code, { name: "tested", calls: ["add"], tests })).toMatchObject({ state: "live" });
  expect(textOf(await lab.call("tested"))).toBe("2");
});

describe.each([
  ["python", PYTHON],
  ["javascript", JAVASCRIPT],
] as const)("the code of a %s tool", (language, code) => {
  const caller = `caller_${language}`;
  beforeAll(
    () => lab.add(code.replace("NAME", caller), { name: caller, language, calls: ["add", caller, "tool_list", "tool_publish", "gone"] }),
    60_000,
  );
  const call = async (name: string, more: object = {}): Promise<string> => textOf(await lab.call(caller, { name, ...more }));

  it("calls a tool that it declares, in a line of the audit of its own", async () => {
    expect(await call("add")).toBe("42");
    const [inner, outer] = calls.slice(-2);
    expect(inner).toMatchObject({ tool: "add", principal: "local", parent: outer?.requestId, code: { unit: "add" } });
    expect(outer).toMatchObject({ tool: caller });
  });

  it.each([
    ["read_file", /ToolError FORBIDDEN: .*declares no call of "read_file"/],
    ["tool_publish", /ToolError FORBIDDEN: .*does not call tool_publish/],
    ["gone", /ToolError TOOL_NOT_FOUND/],
  ])("is told why it may not call %s", async (name, expected) => {
    expect(await call(name)).toMatch(expected);
  });

  it("makes a hundred calls at most", async () => {
    const [last, first] = (await call("gone", { times: 101 })).split("\n").toReversed();
    expect([first, last]).toEqual([expect.stringContaining("TOOL_NOT_FOUND"), expect.stringMatching(/ToolError QUOTA_EXCEEDED/)]);
  });

  it("calls with its caller's rights, when the local user shares it", async () => {
    await lab.tools.share(LOCAL, caller, true);
    expect(textOf(await lab.call(caller, { name: "add" }, { principal: OTHER })), "which are others").toContain("TOOL_NOT_FOUND");
    await lab.tools.share(LOCAL, "add", true);
    expect(textOf(await lab.call(caller, { name: "add" }, { principal: OTHER }))).toBe("42");
    expect(calls.at(-2)).toMatchObject({ tool: "add", principal: "other" });
    for (const name of [caller, "add"]) await lab.tools.share(LOCAL, name, false);
  });
});
