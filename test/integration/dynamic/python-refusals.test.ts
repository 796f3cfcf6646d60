import { describe, expect, it } from "vitest";
import { readTools, refusalOf } from "../../support/python-tools.ts";
import { askHarness, readCode } from "../../support/tool-harness.ts";

const tool = (parameters: string, before = ""): string => `${before}@mcp.tool\ndef f(${parameters}): pass`;

describe("refuses, with the line and the reason,", () => {
  it.each([
    ["what is no Python", "x = 1\ndef (", 2, "SyntaxError"],
    ["a bad indent", "if True:\nx = 1", 2, "expected an indented block"],
    ["a NUL", "x = '\0'", null, "null bytes"],
    ["half a surrogate pair", "x = '\ud800'", null, "surrogates"],
    ["very deep brackets", "(".repeat(100_000), 1, "too many nested parentheses"],
    ["an empty code", "", null, "no tool"],
    ["a code without a tool", "def f(): pass", null, "no tool"],
    ["a tool in a text", "x = '''\n@mcp.tool()\ndef f(): pass\n'''", null, "no tool"],
    ["exit() at import", "\nexit()", 2, "ends the process"],
    ["sys.exit() in a function", "import sys\ndef g():\n    sys.exit(0)\ng()", 3, "ends the process"],
    ["an interrupt at import", "raise KeyboardInterrupt", 1, "KeyboardInterrupt while the code was imported"],
    ["an error at import", "def g():\n    return 1 / 0\ng()", 2, "ZeroDivisionError while the code was imported: division by zero"],
    ["an error below a library", "import json\njson.loads('{')", 2, "JSONDecodeError"],
    ["a package that is not there", "import no_such_package", 1, "No module named 'no_such_package'. Name the package"],
    ["an option that no decorator has", "@mcp.tool(descripton='d')\ndef f(): pass", 1, "unexpected keyword argument 'descripton'"],
    ["a description that is no text", "@mcp.tool(description=5)\ndef f(): pass", 1, "The description of a tool is a text, not a int"],
    ["a hint that is no boolean", "@mcp.tool(annotations={'readOnlyHint': 'yes'})\ndef f(): pass", 1, "True or False"],
    ["annotations that are no dict", "@mcp.tool(annotations=[1])\ndef f(): pass", 1, "dict or ToolAnnotations"],
    ["a class", "x = 1\n@mcp.tool\nclass A: pass", 2, "A tool is a function"],
    ["a lambda without a name", "mcp.tool(lambda: 1)", 1, "needs a name"],
    ["*args", tool("*a"), 1, "functools.wraps"],
    ["**kwargs", tool("**a"), 1, "functools.wraps"],
    ["a default that is no JSON", tool("\n  a,\n  b=object()"), 4, "default of the parameter `b` is no JSON: $ is of the type object"],
    ["a default that no JSON can say", tool("a: dict = {'x': [1, float('inf')]}"), 2, "`a` is no JSON: $.x[1] is inf"],
    ["a default of Field that is no JSON", tool("\n  a: int = Field(default=len)"), 3, "`a` is no JSON"],
    ["an annotation without a meaning", tool("a: 'Nobody'"), 2, "`a` cannot be read: NameError"],
    ["an annotation that JSON cannot be made into", tool("a: Callable"), 2, "type of the parameter `a` cannot be described"],
    ["keys that are no texts", tool("a: Dict[float, int]"), 2, "keys of a JSON object are texts"],
    ["a choice of bytes", tool("a: Literal[b'x']"), 2, "choice is of texts"],
    ["a type that holds itself without an end", tool("a: J", "J = Dict[str, 'J']\n"), 3, "holds itself"],
    ["an example that is no JSON", tool("a: int = Field(1, examples=[object()])"), 2, "`a` cannot be described: $.examples[0]"],
  ])("%s", async (_what, code, line, message) => {
    expect(await refusalOf(code)).toEqual([line, expect.stringContaining(message)]);
  });

  it("a schema without bounds", async () => {
    const fields = Array.from({ length: 6000 }, (_, index) => `    a${index}: int`).join("\n");
    expect(await refusalOf(tool("a: A", `class A(TypedDict):\n${fields}\n`))).toEqual([6003, expect.stringContaining("too many parts")]);
    const long = tool("a: int = Field(1, description='x' * 9_000_000)");
    expect((await refusalOf(long))[1]).toContain("too large");
  });

  it("more tools than anybody lists", async () => {
    const code = "for index in range(101):\n    exec(f'@mcp.tool\\ndef f{index}(): pass')";
    expect(await refusalOf(code)).toEqual([null, "The code has more than 100 tools"]);
  });

  it.each([
    ["name", "The name of a tool has at most 200 letters"],
    ["title", "The title of a tool has at most 200 letters"],
    ["description", "The description of a tool has at most 60000 letters"],
  ])("a %s that is too long", async (name, message) => {
    expect(await refusalOf(`@mcp.tool(${name}='\\U0001f600' * ${name === "description" ? 30_001 : 101})\ndef f(): pass`)).toEqual([
      1,
      message,
    ]);
  });

  it("several schemas that together are too long", async () => {
    const one = (name: string): string => `@mcp.tool\ndef ${name}(a: int = Field(1, title='x' * 3_000_000)): pass\n`;
    expect(await refusalOf(["a", "b", "c"].map(one).join(""))).toEqual([null, "The schemas of the tools are too large"]);
  });
});

it("names the requirements before it runs the code that needs them", async () => {
  const code = "# <requirements>\n# -e .\n# </requirements>\nprint('ran')\n@mcp.tool\ndef f(): pass";
  const { last, stdout } = await readCode("python", code);
  expect(last).toMatchObject({ type: "refused", line: 2 });
  expect(stdout).toBe("");
});

it("reads a code with Windows' ends of lines and a byte order mark", async () => {
  expect(await readTools("\ufeff@mcp.tool\r\ndef f(a: int):\r\n    return 'C:\\\\new'\r\n")).toHaveLength(1);
  expect(await refusalOf("\ufeffx = 1\r\n1 / 0\r\n")).toEqual([2, expect.stringContaining("ZeroDivisionError")]);
});

it("reads a code that lowered the recursion limit, or traces what runs", async () => {
  const code = "import sys\nsys.setrecursionlimit(40)\n@mcp.tool\ndef f(a: Optional[List[Dict[str, int]]] = None): pass\n";
  expect(await readTools(code)).toHaveLength(1);
});

it("keeps what is printed at import apart from the answer", async () => {
  const { last, stdout, stderr } = await readCode(
    "python",
    "import sys\nprint('{\"type\":\"tools\"}')\nprint('err', file=sys.stderr)\n@mcp.tool\ndef f(): pass",
  );
  expect([last?.type, stdout, stderr]).toEqual(["tools", '{"type":"tools"}\n', "err\n"]);
});

it.each([
  ["another version", { version: 2 }],
  ["another deed", { do: "run" }],
  ["code that is no text", { code: 1 }],
  ["arguments that are no object", { do: "call", function: "f", arguments: [] }],
])("answers no request with %s", async (_what, fields) => {
  const run = await askHarness({ do: "read", language: "python", code: "@mcp.tool\ndef f(): pass", ...fields });
  expect([run.answers, run.exit]).toEqual([[], 2]);
  expect(run.stderr).toContain("started by Belljar");
});
