import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { readTools, refusalOf } from "../../support/python-tools.ts";
import { callCode } from "../../support/tool-harness.ts";

const hasPydantic = spawnSync("python3", ["-c", "import pydantic; assert pydantic.VERSION > '2'"]).status === 0;
const CODE = `
from pydantic import BaseModel, field_validator
class Part(BaseModel):
    """A part."""
    at: "datetime.date"
    parts: List["Part"] = []
import datetime
class Whole(BaseModel):
    name: str = Field(description="its name", min_length=2)
    part: Optional[Part] = None
    @field_validator("name")
    @classmethod
    def lower(cls, value): return value.lower()
@mcp.tool
def f(whole: Whole, count: Annotated[int, Field(ge=1, le=9, description="how many")] = 1, some: List[int] = Field(default_factory=list)) -> Whole:
    return whole if count == 1 else {"name": "x"}
`;

describe.skipIf(!hasPydantic)(`with the real pydantic${hasPydantic ? "" : " (skipped: python3 has none)"}`, () => {
  it("reads what its Field says, and the schemas of its models", async () => {
    const [tool] = await readTools(CODE);
    const properties = tool?.inputSchema["properties"];
    expect(properties).toMatchObject({
      whole: { type: "object", properties: { name: { type: "string", description: "its name", minLength: 2 } }, required: ["name"] },
      count: { type: "integer", minimum: 1, maximum: 9, description: "how many", default: 1 },
      some: { type: "array", items: { type: "integer" } },
    });
    expect(tool?.inputSchema["required"]).toEqual(["whole"]);
    expect(tool?.inputSchema["$defs"]).toMatchObject({
      Part: { description: "A part.", properties: { at: { type: "string", format: "date" }, parts: { items: { $ref: "#/$defs/Part" } } } },
    });
    expect(tool?.outputSchema).toMatchObject({ type: "object", properties: { name: { type: "string" } }, $defs: { Part: {} } });
  });

  it("gives the function models, and its caller what they hold", async () => {
    const { last } = await callCode("python", CODE, "f", { whole: { name: "ABC", part: { at: "2024-01-02" } } });
    expect(last).toMatchObject({ type: "result", structured: { name: "abc", part: { at: "2024-01-02", parts: [] } } });
  });

  it("says what does not fit a model", async () => {
    const { last } = await callCode("python", CODE, "f", { whole: { name: "abc", part: {} } });
    expect(last).toMatchObject({ type: "error", name: "Mismatch", message: "whole.part.at: Field required" });
    const result = await callCode("python", CODE, "f", { whole: { name: "abc" }, count: 2 });
    expect(result.last).toMatchObject({
      type: "error",
      message: expect.stringContaining("return type: $.name: String should have at least 2 characters"),
    });
  });

  it("refuses a model that has no schema", async () => {
    const code =
      "from pydantic import BaseModel\nclass M(BaseModel):\n    model_config = {'arbitrary_types_allowed': True}\n    a: Callable\n@mcp.tool\ndef f(m: M): pass";
    expect(await refusalOf(code)).toEqual([6, expect.stringContaining("parameter `m` cannot be described")]);
  });
});
