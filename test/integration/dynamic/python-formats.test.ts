import { describe, expect, it } from "vitest";
import everyKind from "../../fixtures/tools/python-every-kind.json" with { type: "json" };
import { callWith, findPythons, readTools } from "../../support/python-tools.ts";

/** The two forms of document 1, as it shows them. */
const DOCUMENT_1 = `
"""
<requirements>
package1>=1.0.0
package2>=2.0.0
</requirements>
"""
@mcp.tool(description='工具描述')
def tool_name(
    param1: Annotated[str, Field(description="参数说明")],
    param2: Annotated[int, Field(default=1, description="参数说明")]
):
    return [param1, param2]

@mcp.tool(
    description='第二',
    annotations={
        "parameters": {
            "param1": {"description": "参数一"},
            "param2": {"description": "参数二"}
        }
    }
)
def second(param1: str, param2: int = 1, param3: bool = False):
    return f"{param1}{param2}{param3}"
`;

const EVERY_KIND = `
from __future__ import annotations
import datetime, uuid, pathlib, decimal
from pydantic import BaseModel, Field

class Color(Enum):
    RED = "red"
    BLUE = "blue"

@dataclass
class Point:
    """A point."""
    x: int
    tags: list[str] = field(default_factory=list)
    next: Point | None = None

class Pair(NamedTuple):
    a: int
    b: str = "b"

class Part(TypedDict, total=False):
    a: Annotated[int, Field(description="an a")]
    points: List[Point]

class Model(BaseModel):
    name: str = Field(description="its name", min_length=2)
    at: datetime.datetime | None = None

@mcp.tool
async def f(color: Color, point: Point, pair: Pair, part: Part, model: Model, day: datetime.date, id: uuid.UUID, numbers: set[int],
            two: tuple[int, str], data: bytes, counts: Dict[int, int], price: decimal.Decimal, path: pathlib.Path,
            either: Union[int, List[str], None], ctx: Context, fixed: Literal["a", "b"] = "a", *, last: float = 1) -> Point:
    print(color, pair, part, model.name, model.at, repr(day), id.version, numbers, two, data, counts, price + 1, path.name, either, fixed, last)
    return point
`;
const ARGUMENTS = {
  color: "red",
  point: { x: 1, next: { x: 2 } },
  pair: { a: 1 },
  part: { points: [{ x: 5 }] },
  model: { name: "nn", at: "2024-01-01T00:00:00Z" },
  day: "2024-01-02",
  id: "12345678-1234-4678-9234-567812345678",
  numbers: [1, 1],
  two: [1, "a"],
  data: "aGk=",
  counts: { 5: 6 },
  price: "1.50",
  path: "/tmp/x",
  either: ["s"],
};

describe.each(await findPythons())("with Python %s", (_version, python) => {
  // Without the packages of the machine, of which pydantic may be one.
  const options = { argv: [python, "-S"] };

  it("reads and calls both forms of document 1", async () => {
    const [first, second] = await readTools(DOCUMENT_1, options);
    expect(first).toEqual({
      function: "tool_name",
      name: "tool_name",
      description: "工具描述",
      inputSchema: {
        type: "object",
        properties: {
          param1: { type: "string", description: "参数说明" },
          param2: { type: "integer", default: 1, description: "参数说明" },
        },
        required: ["param1"],
        additionalProperties: false,
      },
    });
    expect(second?.inputSchema["properties"]).toEqual({
      param1: { type: "string", description: "参数一" },
      param2: { type: "integer", default: 1, description: "参数二" },
      param3: { type: "boolean", default: false },
    });
    const called = await callWith(options, DOCUMENT_1, "tool_name", { param1: "x" });
    expect(called.last?.["content"]).toEqual([{ type: "text", text: '[\n  "x",\n  1\n]' }]);
    const other = await callWith(options, DOCUMENT_1, "second", { param1: "x", param2: 5 });
    expect(other.last?.["content"]).toEqual([{ type: "text", text: "x5False" }]);
  });

  it("gives a function values of the types that it names, and its caller data", async () => {
    const { last, stdout } = await callWith(options, EVERY_KIND, "f", ARGUMENTS);
    expect(last?.["structured"]).toEqual({ x: 1, tags: [], next: { x: 2, tags: [], next: null } });
    expect(stdout).toBe(
      "Color.RED Pair(a=1, b='b') {'points': [Point(x=5, tags=[], next=None)]} nn 2024-01-01 00:00:00+00:00 datetime.date(2024, 1, 2)" +
        " 4 {1} (1, 'a') b'hi' {5: 6} 2.50 x ['s'] a 1\n",
    );
  });

  it("describes the types that a function names", async () => {
    const [tool] = await readTools(EVERY_KIND, options);
    expect(tool).toEqual(everyKind);
  });
});

const PARAMETERS = [
  ["a", {}],
  ["a: str", { type: "string" }],
  ["a: Any", {}],
  ["a: None", { type: "null" }],
  ["a: Optional[int]", { anyOf: [{ type: "integer" }, { type: "null" }] }],
  ["a: int = None", { anyOf: [{ type: "integer" }, { type: "null" }], default: null }],
  ["a: 'Optional[int]' = 5", { anyOf: [{ type: "integer" }, { type: "null" }], default: 5 }],
  ["a: List[Dict[str, float]]", { type: "array", items: { type: "object", additionalProperties: { type: "number" } } }],
  ["a: dict", { type: "object" }],
  ["a: Tuple[int, ...]", { type: "array", items: { type: "integer" } }],
  ["a: Literal[1, 'b', None]", { enum: [1, "b", null] }],
  [
    "a: x = Field(default=1, description='d', ge=1, lt=9)",
    { type: "integer", minimum: 1, exclusiveMaximum: 9, description: "d", default: 1 },
  ],
  ["a: x = Field(..., examples=[1, 2], gt=0)", { type: "integer", exclusiveMinimum: 0, examples: [1, 2] }],
  ["a: Annotated[str, Field(pattern='^a', min_length=1, max_length=3)]", { type: "string", pattern: "^a", minLength: 1, maxLength: 3 }],
  ["a: Annotated[List[str], Field(min_length=1)]", { type: "array", items: { type: "string" }, minItems: 1 }],
  [
    "a: Annotated[Optional[int], Field(le=5, title='A')] = None",
    { anyOf: [{ type: "integer", maximum: 5 }, { type: "null" }], title: "A", default: null },
  ],
  ["a: Annotated[int, 'words']", { type: "integer", description: "words" }],
  ["a: List[Annotated[int, Field(ge=1)]]", { type: "array", items: { type: "integer", minimum: 1 } }],
  ["a: list = Field(default_factory=list)", { type: "array" }],
] as const;

describe("the schema of a parameter", async () => {
  const tools = await readTools(
    PARAMETERS.map(([parameter], index) => `x = int\n@mcp.tool\ndef f${String(index)}(${parameter}): pass\n`).join(""),
  );

  it.each(PARAMETERS.map(([parameter, schema], index) => [parameter, schema, tools[index]] as const))("%s", (_parameter, schema, tool) => {
    expect(tool?.inputSchema["properties"]).toEqual({ a: schema });
  });

  it("leaves out a default that a function makes, and asks for none", async () => {
    const [tool] = await readTools("@mcp.tool\ndef f(a: list = Field(default_factory=list)): pass");
    expect(tool?.inputSchema["required"]).toBeUndefined();
  });

  it("holds each class once, by its own name", async () => {
    const twice = `class A:\n    @dataclass\n    class P:\n        y: str\n@dataclass\nclass P:\n    x: int\n@mcp.tool\ndef f(a: P, b: List[P], c: A.P): pass`;
    const [tool] = await readTools(twice);
    expect(tool?.inputSchema["$defs"]).toEqual({
      P: { type: "object", properties: { x: { type: "integer" } }, required: ["x"] },
      P2: { type: "object", properties: { y: { type: "string" } }, required: ["y"] },
    });
  });
});

const POINT = { type: "object", properties: { x: { type: "integer" } }, required: ["x"] };
const RETURNS = [
  ["P", POINT],
  ["'P'", POINT],
  [
    "List[P]",
    {
      type: "object",
      properties: { result: { type: "array", items: { $ref: "#/$defs/P" } } },
      required: ["result"],
      $defs: { P: POINT },
    },
  ],
  ["dict", undefined],
  ["Dict[str, Any]", undefined],
  ["Optional[P]", undefined],
  ["Image", undefined],
  ["'Nobody'", undefined],
  ["int", undefined],
] as const;

describe("what a function promises to return", async () => {
  const code = RETURNS.map(([annotation], index) => `@mcp.tool\ndef f${String(index)}() -> ${annotation}: pass\n`).join("");
  const tools = await readTools(`@dataclass\nclass P:\n    x: int\n${code}`);

  it.each(RETURNS.map(([annotation, schema], index) => [annotation, schema, tools[index]] as const))("%s", (_annotation, schema, tool) => {
    expect(tool?.outputSchema).toEqual(schema);
  });
});
