import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { callWith, propertiesOf, readTools, refusalOf } from "../../support/python-tools.ts";
import { askHarness, callCode } from "../../support/tool-harness.ts";

const DECORATED = `
import functools
def twice(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs) * 2
    return wrapper

@mcp.tool
def first(a: str): return a

@twice
@mcp.tool(name="second.tool", title="Second", description=" given ", annotations={"readOnlyHint": True, "unknown": 1})
@twice
def second(a: int) -> int:
    "Not this."
    return a

@mcp.tool()
async def third(): return "C:\\\\new"

text = """
@mcp.tool(description="no tool")
def fourth(): pass
"""
mcp.tool(lambda a: a + 1, name="fifth") if False else mcp.tool(name="fifth")(lambda a: a + 1)
`;

it("reads bare decorators, stacked ones, async functions and lambdas, and no text", async () => {
  const tools = await readTools(DECORATED);
  expect(tools.map(({ function: key, name }) => [key, name])).toEqual([
    ["first", "first"],
    ["second", "second.tool"],
    ["third", "third"],
    ["<lambda>", "fifth"],
  ]);
  expect(tools[1]).toMatchObject({ title: "Second", description: "given", annotations: { readOnlyHint: true } });
  expect(tools[1]?.inputSchema["properties"]).toEqual({ a: { type: "integer" } });
});

it.each([
  ["first", { a: "x" }, "x"],
  ["second", { a: 4 }, "8"],
  ["third", {}, "C:\\new"],
  ["<lambda>", { a: 1 }, "2"],
])("calls %s", async (key, args, text) => {
  expect((await callCode("python", DECORATED, key, args)).last).toEqual({ type: "result", content: [{ type: "text", text }] });
});

it("takes a file that was written for FastMCP, and runs no server", async () => {
  const code = [
    "from mcp.server.fastmcp import FastMCP, Context, Image",
    "from mcp.server.session import ServerSession",
    "from mcp.types import TextContent, ToolAnnotations",
    "from typing import Annotated",
    'mcp = FastMCP("Demo", json_response=True)',
    '@mcp.resource("greeting://{name}")',
    "def greeting(name: str) -> str: return name",
    "@mcp.prompt()",
    "def prompt(name: str) -> str: return name",
    "@mcp.tool(annotations=ToolAnnotations(title='Adds', idempotentHint=True))",
    "def add(a: int, b: int, ctx: Context[ServerSession, None]) -> int:",
    '    """Add two numbers"""',
    "    return a + b",
    'if __name__ == "__main__":',
    '    mcp.run(transport="stdio")',
    "    raise SystemExit(1)",
  ].join("\n");
  expect(await readTools(code, { argv: ["python3", "-S"] })).toEqual([
    {
      function: "add",
      name: "add",
      title: "Adds",
      description: "Add two numbers",
      inputSchema: {
        type: "object",
        properties: { a: { type: "integer" }, b: { type: "integer" } },
        required: ["a", "b"],
        additionalProperties: false,
      },
      annotations: { idempotentHint: true },
    },
  ]);
  expect((await callCode("python", code, "add", { a: 1, b: 2 })).last?.["content"]).toEqual([{ type: "text", text: "3" }]);
});

it("says where pydantic's other names are, if pydantic is not installed", async () => {
  const { last } = await askHarness(
    { do: "read", language: "python", code: "from pydantic import Field, BaseModel, validator" },
    { argv: ["python3", "-S"] },
  );
  expect(last).toMatchObject({ type: "refused", line: 1 });
  expect(last?.["message"]).toContain("pydantic has no validator here: add its package to the requirements");
});

it("lets the real module come first", async () => {
  const code = "import sys\nsys.path.insert(0, '.')\nimport pydantic\n@mcp.tool\ndef f(): return pydantic.REAL";
  const cwd = await mkdtemp(join(tmpdir(), "belljar-pydantic-"));
  onTestFinished(() => rm(cwd, { recursive: true }));
  await writeFile(`${cwd}/pydantic.py`, "REAL = 'real'");
  const { last } = await callWith({ cwd, argv: ["python3", "-S"] }, code, "f");
  expect(last?.["content"]).toEqual([{ type: "text", text: "real" }]);
});

const GOOGLE = [
  "Does it.",
  "",
  "More.",
  "",
  "Args:",
  "    a (Dict[str, int]): the a",
  "        goes on: here",
  "    b: the b",
  "",
  "Returns:",
  "    all",
];
const NUMPY = [
  "Does it.",
  "",
  "More.",
  "",
  "Parameters",
  "----------",
  "a : dict",
  "    the a",
  "    goes on: here",
  "b",
  "    the b",
  "",
  "Returns",
  "-------",
  "all",
];
const REST = ["Does it.", "", "More.", "", ":param dict a: the a", "    goes on: here", ":param b: the b", ":type b: int", ":returns: all"];

describe.each([
  ["Google", GOOGLE, "Returns:\n    all"],
  ["NumPy", NUMPY, "Returns\n-------\nall"],
  ["reST", REST, ":returns: all"],
])("a docstring in the style of %s", (_style, lines, rest) => {
  const docstring = `    """${lines.join("\n    ")}\n    """`;

  it("fills what is missing", async () => {
    const [tool] = await readTools(`@mcp.tool\ndef f(a: dict, b: int):\n${docstring}\n`);
    expect(tool?.description).toBe(`Does it.\n\nMore.\n\n${rest}`);
    expect(tool?.inputSchema["properties"]).toEqual({
      a: { type: "object", description: "the a goes on: here" },
      b: { type: "integer", description: "the b" },
    });
  });

  it("gives way to what the decorator and Field say", async () => {
    const head = "@mcp.tool(description='D', annotations={'parameters': {'a': {'description': 'A'}, 'none': {}}})";
    const [tool] = await readTools(`${head}\ndef f(a: dict, b: Annotated[int, Field(description="B")]):\n${docstring}\n`);
    expect(tool?.description).toBe("D");
    expect(tool?.inputSchema["properties"]).toMatchObject({ a: { description: "A" }, b: { description: "B" } });
  });
});

it.each([
  ["{}", { type: "integer" }],
  ["{'parameters': {}}", { type: "integer" }],
  ["{'parameters': None}", { type: "integer" }],
  ["{'parameters': {'a': None}}", { type: "integer" }],
  ["{'parameters': {'a': {}}}", { type: "integer" }],
  ["{'parameters': {'a': 'short'}}", { type: "integer", description: "short" }],
  ["{'parameters': {'a': {'description': 'd', 'minimum': 3, 'type': 'string'}}}", { type: "integer", description: "d", minimum: 3 }],
])("merges the annotations %s", async (annotations, schema) => {
  const [tool] = await readTools(`@mcp.tool(annotations=${annotations})\ndef f(a: int): pass`);
  expect(tool?.inputSchema["properties"]).toEqual({ a: schema });
});

it("keeps the context out of the schema, whatever its name", async () => {
  expect(await propertiesOf("a: int, c: Context, d: Optional[Context] = None, e: 'Context' = None")).toEqual({ a: { type: "integer" } });
});

describe("the requirements", () => {
  const requirementsOf = async (code: string): Promise<unknown> =>
    (await askHarness({ do: "requirements", language: "python", code })).last;
  it.each([
    [
      "in a text",
      "'''\n<requirements>\na>=1,<2  # why\n\n# none\nb[x] ; python_version > '3'\n</requirements>\n'''",
      ["a>=1,<2", "b[x] ; python_version > '3'"],
    ],
    ["in comments", "# <requirements>\n# a\n#\n# b\n# </requirements>", ["a", "b"]],
    ["in one line", "x = '<requirements>a</requirements>'", ["a"]],
    ["that are only mentioned", "# the tag <requirements> is open", []],
    ["twice", "'''<requirements>\na\nb\n</requirements>'''\n'''<requirements>\nb\nc\n</requirements>'''", ["a", "b", "c"]],
    [
      "in a script block",
      "# /// script\n# requires-python = '>=3.9'\n# dependencies = [\n#   \"a>=1\", # why\n#   'b',\n# ]\n# [tool.x]\n# dependencies = ['no']\n# ///",
      ["a>=1", "b"],
    ],
    ["in a script block of one line", "# /// script\n# dependencies = []\n# ///", []],
    ["in a script block that does not end", "# /// script\n# dependencies = ['a']\nx = 1", []],
    ["of code that is no Python", "# /// script\n# dependencies = ['a\\\\']\n# ///\ndef (", ["a\\\\"]],
    ["of code that would end the process", "import os\nos._exit(1)", []],
  ])("%s", async (_where, code, requirements) => {
    expect(await requirementsOf(code)).toEqual({ type: "requirements", requirements });
  });

  it.each([
    ["'''\n<requirements>\n-r other.txt\n</requirements>'''", 3, "option of pip"],
    ["# /// script\n# dependencies = [a]\n# ///", 2, "list of texts"],
    ["# /// script\n# dependencies = [\n#   'a'\n#   'b'\n# ]\n# ///", 4, "list of texts"],
    ["# /// script\n# dependencies = ['a'\n# ///", 2, "list of texts"],
    ["# /// script\n# ///\nx = 1\n# /// script\n# ///", 4, "more than one"],
    [`# <requirements>\n# ${"a".repeat(201)}\n# </requirements>`, 2, "at most 200"],
  ])("refuses %j", async (code, line, message) => {
    expect(await requirementsOf(code)).toEqual({ type: "refused", line, message: expect.stringContaining(message) });
  });

  it("takes a megabyte of tags and blocks without delay", async () => {
    const code = "# <requirements>\n".repeat(30_000) + "# /// script\n".repeat(30_000);
    expect(await requirementsOf(code)).toMatchObject({ type: "requirements" });
  });
});

it("tells of two tools of one name", async () => {
  expect(await refusalOf("@mcp.tool\ndef f(): pass\n\n@mcp.tool\ndef f(): pass")).toEqual([4, "Two tools are called 'f'"]);
  const renamed = "@mcp.tool(name='a')\ndef f(): pass\n\n@mcp.tool(name='a')\ndef g(): pass";
  expect(await refusalOf(renamed)).toEqual([4, "Two tools are called 'a', the other in line 1"]);
});
