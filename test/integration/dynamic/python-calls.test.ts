import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { callBody, textOf } from "../../support/python-tools.ts";
import { askHarness, callCode } from "../../support/tool-harness.ts";

it("shows the author's own lines in the author's own tracebacks, whatever files the working folder has", async () => {
  const folder = mkdtempSync(join(tmpdir(), "bj-shadow-"));
  writeFileSync(join(folder, "weather.py"), "# not\n# this\n# file\n# here\n# at all\n");
  const code =
    "import traceback\n@mcp.tool\ndef shadowed():\n    try: return 1 / 0\n    except ArithmeticError: return traceback.format_exc()\n";
  const request = { do: "call", language: "python", code, function: "shadowed", arguments: {} };
  const { last } = await askHarness(request, { cwd: folder });
  rmSync(folder, { recursive: true });
  expect(last).toMatchObject({ content: [{ text: expect.stringContaining("    try: return 1 / 0\n") }] });
});

describe("an error", () => {
  const CODE = `import json

class Lost(Exception):
    pass

def deeper(n):
    if n:
        return deeper(n - 1)
    raise Lost("no 'city'")

@mcp.tool
def chain():
    try:
        {}["k"]
    except KeyError as error:
        raise RuntimeError("chained") from error

@mcp.tool
def library():
    json.loads("{")

@mcp.tool
def lost(): deeper(2)

@mcp.tool
def deep(): deeper(500)

@mcp.tool
async def late():
    import asyncio
    await asyncio.sleep(0)
    raise ValueError("late")
`;
  const errorOf = async (fn: string) => (await callCode("python", CODE, fn)).last;

  it("has the author's lines alone", async () => {
    expect(await errorOf("lost")).toEqual({
      type: "error",
      name: "Lost",
      message: "no 'city'",
      traceback: [
        "Traceback (most recent call last):",
        '  File "weather.py", line 23, in lost',
        "    def lost(): deeper(2)",
        '  File "weather.py", line 8, in deeper',
        "    return deeper(n - 1)",
        '  File "weather.py", line 8, in deeper',
        "    return deeper(n - 1)",
        '  File "weather.py", line 9, in deeper',
        "    raise Lost(\"no 'city'\")",
        "Lost: no 'city'",
        "",
      ].join("\n"),
    });
  });

  it("leaves out the frames of libraries and of the harness", async () => {
    expect(await errorOf("library")).toMatchObject({
      name: "JSONDecodeError",
      traceback: expect.stringMatching(
        /^Traceback \(most recent call last\):\n {2}File "weather.py", line 20, in library\n {4}json.loads\("\{"\)\njson.decoder.JSONDecodeError: .*\n$/u,
      ),
    });
    expect((await errorOf("late"))?.["traceback"]).toBe(
      'Traceback (most recent call last):\n  File "weather.py", line 32, in late\n    raise ValueError("late")\nValueError: late\n',
    );
  });

  it("tells its cause first", async () => {
    expect((await errorOf("chain"))?.["traceback"]).toMatch(
      /^Traceback.*\n.*line 14, in chain\n.*\nKeyError: 'k'\n\nThe above exception was the direct cause .*:\n\nTraceback.*\n.*line 16, in chain\n.*\nRuntimeError: chained\n$/u,
    );
  });

  it("shows both ends of many frames", async () => {
    const traceback = String((await errorOf("deep"))?.["traceback"]);
    expect(traceback.split("\n").length).toBeLessThan(130);
    expect(traceback).toContain("[... 442 frames left out ...]");
    expect(traceback.endsWith("Lost: no 'city'\n")).toBe(true);
  });

  it.each([
    ["a long message of emoji", "raise ValueError('\\U0001f600' * 50_000)", "ValueError", /characters left out/u],
    ["a long message", "raise ValueError('x' * 10 ** 7)", "ValueError", /^x+\n\[\.\.\. \d+ characters left out \.\.\.\]\nx+$/u],
    [
      "a message that cannot be made",
      "class E(Exception):\n    def __str__(self): exit()\nraise E",
      "E",
      /its text cannot be made: SystemExit/u,
    ],
    ["exit()", "exit(3)", "SystemExit", /^The code ended the process: exit\(3\)$/u],
    ["an interrupt", "raise KeyboardInterrupt", "KeyboardInterrupt", /^KeyboardInterrupt$/u],
    ["a syntax error in a text that is run", "eval('1 +')", "SyntaxError", /invalid syntax/u],
    ["a recursion without end", "def g(): return g()\ng()", "RecursionError", /maximum recursion depth/u],
    [
      "a long chain",
      "e = None\nfor i in range(10_000):\n    n = ValueError(i)\n    n.__cause__ = e\n    e = n\nraise e",
      "ValueError",
      /^9999$/u,
    ],
    ["a ring of causes", "a, b = ValueError('a'), ValueError('b')\na.__cause__, b.__cause__ = b, a\nraise a", "ValueError", /^a$/u],
    [
      "wide and deep groups",
      "G = BaseExceptionGroup\ne = ValueError(1)\nfor _ in range(9): e = G('g', [e] * 100)\nraise e",
      "ExceptionGroup",
      /^g \(100 sub-exceptions\)$/u,
    ],
  ])("of %s is bounded", async (_what, body, name, message) => {
    const answer = await callBody(body);
    expect(answer).toMatchObject({ type: "error", name, message: expect.stringMatching(message) });
    expect(String(answer?.["message"]).length).toBeLessThanOrEqual(64 << 10);
    expect(String(answer?.["traceback"]).length).toBeLessThanOrEqual(64 << 10);
  });

  it("at import is the call's", async () => {
    const { last } = await callCode("python", "@mcp.tool\ndef f(): pass\n1 / 0", "f");
    expect(last).toMatchObject({
      type: "error",
      name: "ZeroDivisionError",
      traceback: expect.stringContaining('File "weather.py", line 3, in <module>'),
    });
  });

  it.each([
    ["of another type", "f(a: int)", { a: "1" }, "a must be an integer"],
    ["deep inside", "f(a: Dict[str, List[int]])", { a: { b: [1, null] } }, "a.b[1] must be an integer"],
    ["that is missing", "f(a: int)", {}, "The argument 'a' is missing"],
    ["that nobody asked for", "f(a: int)", { a: 1, b: 2 }, "The tool has no parameter 'b'"],
    ["that is no choice", "f(a: Literal['x', 1])", { a: true }, "a must be one of 'x', 1"],
    ["that is no date", "f(a: 'datetime.date')", { a: "2024-13-01" }, "a must be a date"],
  ])("tells of an argument %s", async (_what, head, args, message) => {
    const { last } = await callCode("python", `import datetime\n@mcp.tool\ndef ${head}: pass`, "f", args);
    expect(last).toMatchObject({ type: "error", message: expect.stringContaining(message) });
  });

  it("tells of a tool that is not there", async () => {
    expect((await callCode("python", CODE, "deeper")).last).toMatchObject({ type: "error", message: "The code has no tool 'deeper'" });
  });
});

describe("the arguments", () => {
  it.each([
    ["f(a, /, b=2, *, c=3)", "[a, b, c]", { a: 1, c: 5 }, [1, 2, 5]],
    ["f(a: int = Field(default=7), b: Annotated[str, Field(default='x')] = 'y')", "[a, b]", {}, [7, "y"]],
    ["f(a: Annotated[int, Field(default=7)])", "a + 1", {}, 8],
    ["f(a: list = Field(default_factory=list))", "a", {}, []],
    ["f(a: int = None)", "a is None", { a: null }, true],
    ["f(a: float)", "type(a).__name__", { a: 1 }, "float"],
    ["f(a: Union[int, str])", "a * 2", { a: "5" }, "55"],
    ["f(a: Optional[bytes] = None)", "a.decode()", { a: "aGk=" }, "hi"],
  ])("of %s", async (head, expression, args, value) => {
    const answer = await callBody(`return ${expression}`, args, head);
    expect(typeof value === "string" ? textOf(answer) : JSON.parse(textOf(answer))).toEqual(value);
  });
});

describe("the context", () => {
  const REPORT = "context.report_progress(1, total=2, message='half')";
  const LOGS = "context.debug('d')\ncontext.info(1)\ncontext.warning('w')\ncontext.error('e')";
  const expected = [
    { type: "progress", progress: 1, total: 2, message: "half" },
    { type: "log", level: "debug", message: "d" },
    { type: "log", level: "info", message: "1" },
    { type: "log", level: "warning", message: "w" },
    { type: "log", level: "error", message: "e" },
    { type: "result", content: [] },
  ];
  it.each([
    ["as it is", `def f(context: Context):\n    ${[REPORT, LOGS].join("\n").replaceAll("\n", "\n    ")}`],
    [
      "awaited",
      `async def f(context: Optional[Context] = None):\n    ${[REPORT, LOGS].join("\n").replaceAll(/^/gm, "await ").replaceAll("\n", "\n    ")}`,
    ],
  ])("reports %s", async (_how, definition) => {
    expect((await callCode("python", `@mcp.tool\n${definition}`, "f")).answers).toEqual(expected);
  });

  it.each([
    ["context.report_progress(float('nan'))", "finite number"],
    ["context.report_progress('1')", "finite number"],
    ["context.log('loud', 'x')", "levels"],
  ])("refuses %s", async (line, message) => {
    expect(await callBody(line, {}, "f(context: Context)")).toMatchObject({
      type: "error",
      name: "ValueError",
      message: expect.stringContaining(message),
    });
  });

  it("cuts a long message, and is open to the call's code alone", async () => {
    const { answers } = await callCode("python", "@mcp.tool\ndef f(c: Context):\n    c.info('x' * 10 ** 6)\n    Context().info('y')", "f");
    expect(String(answers[0]?.["message"]).length).toBeLessThanOrEqual(64 << 10);
    expect(answers[1]).toMatchObject({ type: "error", name: "RuntimeError" });
  });
});

it("gives the code an empty stdin, its own name, and no sign of the harness", async () => {
  const body = "import sys, __main__\nreturn [sys.stdin.read(), sys.argv, __name__, __file__, hasattr(__main__, 'SOURCES'), f.__module__]";
  const answer = await callBody(body);
  expect(JSON.parse(textOf(answer))).toEqual(["", ["weather.py"], "__tool__", "weather.py", false, "__tool__"]);
});

it("lets the code's own tracebacks and inspections find its lines", async () => {
  const body = "import inspect, traceback\ntry: 1 / 0\nexcept ZeroDivisionError: return traceback.format_exc() + inspect.getsource(f)[:9]";
  expect((await callBody(body))?.["content"]).toMatchObject([{ text: expect.stringMatching(/try: 1 \/ 0[\s\S]*@mcp.tool$/u) }]);
});

it("knows the error of a called tool by FastMCP's name", async () => {
  const code = "@mcp.tool\ndef same():\n    from mcp.server.fastmcp.exceptions import ToolError as Given\n    return Given is ToolError\n";
  expect((await callCode("python", code, "same")).last).toMatchObject({ type: "result", content: [{ text: "true" }] });
});
