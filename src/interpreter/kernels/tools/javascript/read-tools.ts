import { Tool, type ToolDefinition } from "./define-tool.ts";
import { docCommentOf } from "./doc-comment.ts";
import { toJsonText } from "./json-text.ts";
import type { Exports } from "./load-unit.ts";
import { Refusal } from "./refusal.ts";
import { type Direction, toJsonSchema } from "./schemas.ts";

const MAX_SCHEMA_BYTES = 256 * 1024;

export interface FoundTool {
  /** The export's name. */
  readonly key: string;
  readonly name: string;
  readonly definition: ToolDefinition;
}

/** The tools among the exports, each once, under the first name that is not `default`. */
export function findTools(exports: Exports, unitName: string): FoundTool[] {
  const keys = Object.keys(exports).filter((key) => key !== "default");
  const found: FoundTool[] = [];
  for (const key of Object.hasOwn(exports, "default") ? [...keys, "default"] : keys) {
    const definition = Tool.definitionOf(exports[key]);
    if (!definition || found.some((tool) => tool.definition === definition)) continue;
    found.push({ key, definition, name: definition.name ?? (key === "default" ? unitName : key) });
  }
  return found;
}

/** What a person and the host are told of the tools. Throws a `Refusal` that names the tool. */
export async function describeTools(tools: readonly FoundTool[], code: string): Promise<unknown[]> {
  if (tools.length === 0) throw new Refusal("The code exports no tool; write export default defineTool({ description, input, run })", null);
  const names = tools.map((tool) => tool.name);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) throw new Refusal(`Two tools are named ${JSON.stringify(twice)}`, null);
  const described: unknown[] = [];
  // One after another: reading a schema may run the author's code.
  for (const tool of tools) described.push(await describe(tool, code));
  return described;
}

async function describe({ key, name, definition }: FoundTool, code: string): Promise<unknown> {
  const { title, description, output, annotations } = definition;
  return {
    function: key,
    name,
    title,
    description: description ?? docCommentOf(code, key),
    inputSchema: await readSchema(name, definition, "input"),
    outputSchema: output === undefined ? undefined : await readSchema(name, definition, "output"),
    annotations,
  };
}

async function readSchema(name: string, definition: ToolDefinition, direction: Direction): Promise<unknown> {
  try {
    const schema = await toJsonSchema(definition[direction], direction);
    return JSON.parse(toJsonText(schema, { maxBytes: MAX_SCHEMA_BYTES }));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Refusal(`The ${direction} schema of the tool ${JSON.stringify(name)} cannot be read: ${reason}`, null);
  }
}
