import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { StoredApprovals } from "../../../src/approvals/stored-approvals.ts";
import type { CallClient, ClientAnswer } from "../../../src/catalog/question.ts";
import type { ToolResult } from "../../../src/catalog/tool.ts";
import { openScriptLab, type ScriptLab } from "../../support/script-lab.ts";
import { textOf } from "../../support/tools-lab.ts";

let lab: ScriptLab;
beforeAll(async () => {
  lab = await openScriptLab();
  await lab.lab.add("@mcp.tool\ndef double(n: int) -> int:\n    return 2 * n\n");
}, 120_000);
afterAll(() => lab?.[Symbol.asyncDispose](), 60_000);

const returned = (result: ToolResult): unknown => (result.value as { readonly returned: unknown }).returned;

describe.each(["javascript", "typescript", "python"] as const)("a script in %s", (language) => {
  const isPython = language === "python";
  const write = (javascript: string, python: string): string => (isPython ? python : javascript);
  const run = async (javascript: string, python: string): Promise<unknown> => {
    const result = await lab.script(write(javascript, python), language);
    return result.isError ? textOf(result) : returned(result);
  };

  it("calls tools by their server and by their names, and answers what it returns", async () => {
    const all = await run(
      `const { sum } = await tools.memo.add({ a: 1, b: 2 });
       return [sum, (await tools.mcp_memo_add({ a: 4 })).sum, await tools.memo.say_hello(), await tools["double"]({ n: 21 })];`,
      `sum = tools.memo.add(a=1, b=2)["sum"]\nreturn [sum, tools.mcp_memo_add({"a": 4})["sum"], tools.memo.say_hello(), tools["double"](n=21)]`,
    );
    expect(all).toEqual([3, 4, "hello", "42"]);
  });

  it("gives pictures as data, and shows those that the script returns", async () => {
    const result = await lab.script(
      write(
        "const [{ type, data }] = await tools.memo.picture(); return [{ type, data, mimeType: 'image/png' }];",
        "return tools.memo.picture()",
      ),
      language,
    );
    expect(result.content[0]).toEqual({ type: "image", data: "aGk=", mimeType: "image/png" });
  });

  it("throws what a tool fails with, with its code", async () => {
    const caught = (name: string, args: string, given: string) =>
      run(
        `try { await tools.memo.${name}(${args}); } catch (error) { return [error instanceof ToolError, error.code, error.message]; }`,
        `try:\n    tools.memo.${name}(${given})\nexcept ToolError as error:\n    return [True, error.code, str(error)]`,
      );
    expect(await caught("fail", "", "")).toEqual([true, "TOOL_FAILED", "it broke"]);
    expect(await caught("add", '{ a: "x" }', 'a="x"')).toEqual([true, "ARGUMENTS_INVALID", expect.stringContaining("a: ")]);
    expect(await caught("ask", "", ""), "nobody is asked by a script").toEqual([true, "PERSON_UNREACHABLE", expect.anything()]);
  });

  it("shows what it prints below what it returns, and of an error its own lines", async () => {
    const printed = await lab.script(write("console.log('on the way'); return 7;", "print('on the way')\nreturn 7"), language);
    expect(textOf(printed)).toMatch(/^7\nIt printed:\non the way\n\[calls: 0, duration_ms: \d+\]$/);
    const failed = await lab.script(write("const a = 1;\nthrow new RangeError('no');", "a = 1\nraise ValueError('no')"), language);
    expect(failed).toMatchObject({ isError: true, value: { code: "TOOL_FAILED", error: { message: "no" } } });
    expect(textOf(failed)).toMatch(isPython ? /script\.py", line 2/ : /script\.[jt]s:2/);
    const broken = await lab.script(write("await tools.memo.fail();", "tools.memo.fail()"), language);
    expect(textOf(broken), "of a tool, too").toContain("ToolError: it broke");
    const wrong = await lab.script(write("const a = 1;\nconst = 2;", "a = 1\n= 2"), language);
    expect(textOf(wrong)).toMatch(isPython ? /line 2/ : /script\.[jt]s:2/);
  });

  it("says what it lacks if it returns nothing", async () => {
    expect(textOf(await lab.script("", language))).toContain("returned nothing");
  });

  it("throws what names the servers or their tools where a name is none, and takes no name in vain", async () => {
    const caught = await run(
      `const caught = (get) => { try { return get(); } catch (error) { return [error instanceof ToolError, error.code, error.message]; } };
       const plain = [await tools, "memory" in tools, "memo" in tools].map((one) => one === tools || one);
       return [caught(() => tools.memory.add({ a: 1 })), caught(() => tools.memo.ad({ a: 1 })), ...plain];`,
      `def caught(get):
    try:
        return get()
    except ToolError as error:
        return [isinstance(error, ToolError), error.code, str(error)]
plain = [True, hasattr(tools, "memory"), hasattr(tools, "memo") and "memo" in tools]
return [caught(lambda: tools.memory.add(a=1)), caught(lambda: tools["memo"].ad(a=1)), *plain]`,
    );
    expect(caught).toEqual([
      [true, "TOOL_NOT_FOUND", "There is no tools.memory. The servers are memo"],
      [true, "TOOL_NOT_FOUND", expect.stringMatching(/^tools\.memo has no ad; it has add, picture, /)],
      true,
      false,
      true,
    ]);
    const thrown = await lab.script(write("return await tools.memory.add({});", "return tools.memory.add()"), language);
    expect(textOf(thrown)).toContain("ToolError: There is no tools.memory. The servers are memo");
    expect(textOf(thrown)).toMatch(isPython ? /script\.py", line 1/ : /script\.[jt]s:1/);
  });

  it("describes the tools that it is asked for", async () => {
    const { content } = await lab.call("execute_tools_script", { describe: ["memo.add", "double"], language });
    expect(content).toEqual([
      {
        type: "text",
        text: [
          isPython
            ? '# Adds two numbers. And says */ what comes out\n#   a: The first\ntools.memo.add(*, a: float, b: float = ...) -> {"sum": float}'
            : "// Adds two numbers. And says */ what comes out\n//   a: The first\ntools.memo.add(args: { a: number; b?: number }): Promise<{ sum: number }>",
          isPython ? "# double\ntools.double(*, n: int) -> str" : "// double\ntools.double(args: { n: number }): Promise<string>",
        ].join("\n\n"),
      },
    ]);
  });
});

it("makes eight calls at once in JavaScript, and has others wait", async () => {
  lab.begun.most = 0;
  const result = await lab.script("return (await Promise.all(Array.from({ length: 24 }, () => tools.memo.together()))).length;");
  expect(returned(result)).toBe(24);
  expect(lab.begun.most).toBe(8);
});

it("awaits in Python too", async () => {
  const code = "import asyncio\nasync def one():\n    await asyncio.sleep(0)\n    return tools.memo.add(a=1)['sum']\nreturn await one()";
  expect(returned(await lab.script(code, "python"))).toBe(1);
});

it("is one line of the audit with one for each call, whose parent it is", async () => {
  const before = lab.calls.length;
  await lab.script("await tools.memo.add({ a: 1 }); await tools.memo.fail().catch(() => 0); return 1;");
  const [first, second, script, ...others] = lab.calls.slice(before);
  expect(others).toEqual([]);
  expect(script).toMatchObject({ tool: "execute_tools_script", outcome: "ok" });
  expect(first).toMatchObject({ tool: "mcp_memo_add", outcome: "ok", parent: script?.requestId });
  expect(second).toMatchObject({ tool: "mcp_memo_fail", outcome: "error", parent: script?.requestId });
});

it("knows the session of the client that gave it", async () => {
  const client = { id: "session", ask: () => expect.unreachable() };
  const result = await lab.call("execute_tools_script", { code: "return await tools.memo.who();" }, { client });
  expect(returned(result)).toBe("session local");
});

it("tells how far it is, and ends with its caller", async () => {
  const stop = new AbortController();
  const told: unknown[] = [];
  const progress = (one: unknown): void => {
    told.push(one);
    if (told.length === 2) stop.abort();
  };
  const code = "await tools.memo.add({ a: 1 }); await tools.memo.add({ a: 1 }); await tools.memo.hang();";
  const result = await lab.call("execute_tools_script", { code }, { signal: stop.signal, progress });
  expect(result).toMatchObject({ isError: true, value: { code: "CANCELLED" } });
  expect(told).toEqual([1, 2].map((count) => ({ progress: count, message: "mcp_memo_add" })));
});

it("ends at its time limit, and its calls with it", async () => {
  const before = lab.calls.length;
  const result = await lab.script("await tools.memo.hang();", "javascript", { timeout_ms: 3_000 });
  expect(result).toMatchObject({ isError: true, value: { code: "EXEC_TIMEOUT" } });
  expect(lab.calls.slice(before)).toMatchObject([{ tool: "mcp_memo_hang", outcome: "CANCELLED" }, { tool: "execute_tools_script" }]);
});

it("shows a long result in part, and keeps the whole of it", async () => {
  const result = await lab.script("return (await tools.memo.big()) + 'end';", "javascript", { max_bytes: 1_000 });
  const text = textOf(result);
  expect(text.length).toBeLessThan(1_400);
  const read = JSON.parse(/read_result (\{.*\})\]/.exec(text)?.[1] ?? "{}") as object;
  expect(read).toEqual({ uri: expect.stringContaining("offset=1000") });
  expect((await lab.call("read_result", read)).isError).toBeUndefined();
});

describe("a script that calls tools which need approval", () => {
  const code = "return [await tools.memo.merge(), await tools.memo.merge(), await tools.memo.merge().catch((error) => error.code)];";
  const asking = (answer: ClientAnswer) => {
    const asked: string[] = [];
    const client: CallClient = { id: "asking", ask: async ({ message }) => (asked.push(message), answer) };
    return { asked, call: (args: object) => lab.call("execute_tools_script", args, { client }) };
  };

  it("is shown to the person once, with its tools and a count each, and calls them no more often", async () => {
    const { asked, call } = asking({ action: "accept", content: { approve: true } });
    const before = lab.calls.length;
    expect(returned(await call({ code, calls: { "memo.merge": 2, "memo.add": 5 } }))).toEqual(["merged", "merged", "APPROVAL_NEEDED"]);
    expect(asked).toEqual([
      `A model wants to run a script that calls, with arguments of its own choice:\n- mcp_memo_merge, at most 2 times\n\nIt is in javascript:\n${code}`,
    ]);
    expect(lab.calls.slice(before).map(({ tool, approval }) => [tool, approval])).toEqual([
      ["mcp_memo_merge", "outer"],
      ["mcp_memo_merge", "outer"],
      ["execute_tools_script", "asked"],
    ]);
  });

  it("does not begin if the person does not want it", async () => {
    const { call } = asking({ action: "decline" });
    const begun = lab.begun.names.length;
    expect(await call({ code, calls: { mcp_memo_merge: 3 } })).toMatchObject({ isError: true, value: { code: "FORBIDDEN" } });
    expect(lab.begun.names).toHaveLength(begun);
  });

  it("waits for the command line if the question is cancelled", async () => {
    const { asked, call } = asking({ action: "cancel" });
    const refused = await call({ code, calls: { mcp_memo_merge: 4 } });
    expect(textOf(refused)).toMatch(/^APPROVAL_NEEDED: .* belljar approval give [0-9a-f]{16}/);
    expect(asked).toHaveLength(1);
    const waiting = await new StoredApprovals(lab.lab.path).list();
    expect(waiting.filter(({ shown }) => shown.includes("at most 4 times"))).toHaveLength(1);
    await Promise.all(waiting.map(({ id }) => new StoredApprovals(lab.lab.path).refuse(id)));
  });

  it("says what to write if it names them not, and calls none", async () => {
    const { asked, call } = asking({ action: "accept", content: { approve: true } });
    const result = await call({ code: "return await tools.memo.merge();" });
    expect(textOf(result)).toContain('"calls": {"mcp_memo_merge":1}');
    expect(asked).toEqual([]);
    expect(textOf(await call({ code, calls: { "memo.no": 1 } }))).toMatch(/^TOOL_NOT_FOUND: `calls` names "memo\.no"/);
  });

  it("is approved at the command line where nobody can be asked, once and as it is", async () => {
    const approvals = new StoredApprovals(lab.lab.path);
    const args = { code, calls: { "memo.merge": 2 } };
    const run = async (given: object): Promise<unknown> => {
      const { value } = await lab.call("execute_tools_script", given);
      return (value as { readonly code?: string; readonly returned?: unknown }).code ?? "ran";
    };
    expect(await run(args)).toBe("APPROVAL_NEEDED");
    const [waiting] = await approvals.list();
    expect(waiting?.shown).toContain("mcp_memo_merge, at most 2 times");
    await approvals.give(waiting?.id ?? "");
    expect(await run({ ...args, code: `${code} ` })).toBe("APPROVAL_NEEDED");
    expect(await run({ ...args, calls: { "memo.merge": 3 } })).toBe("APPROVAL_NEEDED");
    expect(await run(args)).toBe("ran");
    expect(await run(args)).toBe("APPROVAL_NEEDED");
  });
});

it("names a tool or server that there is not", async () => {
  const result = await lab.call("execute_tools_script", { describe: ["memory"] });
  expect(textOf(result)).toMatch(/^TOOL_NOT_FOUND: There is no server and no tool "memory"\. There are the servers memo\./);
  expect(textOf(await lab.call("execute_tools_script", {}))).toContain("give either code or describe");
});
