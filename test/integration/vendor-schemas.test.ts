import { beforeAll, describe, expect, it } from "vitest";
import type { ToolDescription } from "../../src/catalog/tool.ts";
import { LOCAL } from "../../src/sandbox/sandbox.ts";
import { openToolCaller } from "../support/tool-caller.ts";
import { importVendor, installVendors } from "../support/vendors.ts";

type Part = Readonly<Record<string, unknown>>;
type Convert = (schema: object) => unknown;

const problem = await installVendors();

/** What calls or tests other tools takes arguments of any names; no strict schema can say that, and hosts then leave strictness out. */
const FREE = ["execute_tools_script", "tool_draft", "call_tool"];

let tools: readonly ToolDescription[] = [];
beforeAll(async () => {
  await using caller = await openToolCaller();
  tools = JSON.parse(JSON.stringify(caller.catalog.listAll(LOCAL))) as ToolDescription[];
});

function refusals(convert: (tool: ToolDescription) => unknown): readonly string[] {
  return tools.flatMap((tool) => {
    try {
      convert(tool);
      return [];
    } catch (error) {
      return [`${tool.name}: ${String(error)}`];
    }
  });
}

/** As strict hosts do: every field is required, and those that were optional may be null. */
function withNulls(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(withNulls);
  if (typeof part !== "object" || part === null) return part;
  const inner = Object.fromEntries(Object.entries(part).map(([key, value]) => [key, withNulls(value)])) as Part;
  const { properties, required = [] } = inner as { properties?: Part; required?: readonly string[] };
  if (!properties) return inner;
  const all = Object.entries(properties).map(([name, schema]) => [name, required.includes(name) ? schema : orNull(schema as Part)]);
  return { ...inner, properties: Object.fromEntries(all) };
}

function orNull({ description, ...schema }: Part): Part {
  return { description, anyOf: [schema, { type: "null" }] };
}

/** What Google's API reads of a schema; its package sends a tool's schema as it stands. */
const GOOGLE = new Set(
  "type format title description nullable enum items maxItems minItems properties required minProperties maxProperties minLength maxLength pattern anyOf minimum maximum default additionalProperties const prefixItems".split(
    " ",
  ),
);

function unknownWords(schema: unknown, at = ""): readonly string[] {
  if (typeof schema !== "object" || schema === null) return [];
  return Object.entries(schema).flatMap(([key, value]) => {
    if (key === "properties") return Object.entries(value as object).flatMap(([name, inner]) => unknownWords(inner, `${at}.${name}`));
    if (key === "items" || key === "additionalProperties") return unknownWords(value, `${at}.${key}`);
    if (key === "anyOf") return (value as readonly unknown[]).flatMap((inner) => unknownWords(inner, `${at}|`));
    return GOOGLE.has(key) ? [] : [`${at}: ${key}`];
  });
}

describe.skipIf(problem !== undefined)(
  `every built-in tool's schema is taken${problem === undefined ? "" : ` (skipped: ${problem})`}`,
  () => {
    it("by Anthropic's package, as a tool of MCP and as a strict one", async () => {
      const [{ mcpTool }, { transformJSONSchema }] = await Promise.all([
        importVendor("@anthropic-ai/sdk/helpers/beta/mcp.mjs"),
        importVendor("@anthropic-ai/sdk/lib/transform-json-schema.mjs"),
      ]);
      expect(refusals((tool) => (mcpTool as (tool: object, client: object) => unknown)(tool, {}))).toEqual([]);
      expect(refusals(({ inputSchema }) => (transformJSONSchema as Convert)(inputSchema))).toEqual([]);
    });

    it("by OpenAI's package as a strict one, but of what names arguments of other tools", async () => {
      const { toStrictJsonSchema } = await importVendor("openai/lib/transform.mjs");
      const strict = toStrictJsonSchema as Convert;
      expect(refusals(({ inputSchema }) => strict(withNulls(inputSchema) as object)).map((text) => text.split(":")[0])).toEqual(FREE);
      const free = { type: "object", properties: { a: { type: "object", propertyNames: {}, additionalProperties: {} } }, required: ["a"] };
      expect(() => strict(free)).toThrowError("additionalProperties");
    });

    it("by Google's package, with no word that its API does not know", async () => {
      const { mcpToTool } = await importVendor("@google/genai/dist/node/index.mjs");
      const client = { listTools: async () => ({ tools }), callTool: () => Promise.reject(new Error("nothing is called here")) };
      const callable = (mcpToTool as (client: object) => { tool(): Promise<unknown> })(client);
      const { functionDeclarations } = (await callable.tool()) as {
        functionDeclarations: readonly { name: string; parametersJsonSchema: object }[];
      };
      expect(functionDeclarations).toHaveLength(tools.length);
      expect(functionDeclarations.flatMap(({ name, parametersJsonSchema }) => unknownWords(parametersJsonSchema, name))).toEqual([]);
      expect(unknownWords({ type: "object", properties: { a: { propertyNames: {} } } }, "x")).toEqual(["x.a: propertyNames"]);
    });

    it("by LangChain's package", async () => {
      const { convertToOpenAITool } = await importVendor("@langchain/core/dist/utils/function_calling.js");
      const { tool: makeTool } = await importVendor("@langchain/core/dist/tools/index.js");
      const make = makeTool as (run: () => string, fields: object) => object;
      const convert = convertToOpenAITool as (tool: object) => { function: { parameters: unknown } };
      const converted = ({ name, description, inputSchema }: ToolDescription) =>
        convert(make(() => "", { name, description, schema: inputSchema }));
      expect(refusals(converted)).toEqual([]);
      for (const one of tools) expect(converted(one).function.parameters).toMatchObject({ properties: one.inputSchema["properties"] });
    });
  },
);
