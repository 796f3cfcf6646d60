import { BelljarError } from "../errors.ts";
import type { JsonSchema, ToolSchema } from "./tool-schema.ts";
import type { Tool } from "./tool.ts";

/** All of a tool but its code, as JSON. Callers are shown this, and the door decides by it. */
export type ToolFacts = Omit<Tool, "input" | "output" | "value" | "run"> & {
  readonly input: JsonSchema;
  readonly output?: JsonSchema;
  readonly value?: JsonSchema;
};

export function toFacts(tool: Omit<Tool, "run"> & { readonly run: unknown }): ToolFacts {
  const { input, output, value, run: _, ...facts } = tool;
  return { ...facts, input: input.schema, ...(output && { output: output.schema }), ...(value && { value: value.schema }) };
}

/**
 * Tools whose code is loaded with the first call of one. Lists and searches need the facts alone. A call rejects with `INTERNAL` if the
 * loaded tools do not have that tool.
 */
export function lateTools(facts: readonly ToolFacts[], load: () => Promise<readonly Tool[]>): readonly Tool[] {
  return facts.map((given) => lateTool(given, load));
}

function lateTool({ input, output, value, ...facts }: ToolFacts, load: () => Promise<readonly Tool[]>): Tool {
  const { name, toolset } = facts;
  const loaded = async (): Promise<Tool> => {
    const tool = (await load()).find((candidate) => candidate.name === name && candidate.toolset === toolset);
    if (!tool) throw new BelljarError("INTERNAL", `There is no code for the tool "${name}": build Belljar again`);
    return tool;
  };
  const late = (schema: JsonSchema, side: "input" | "output" | "value"): ToolSchema => ({
    schema,
    parse: async (given) => (await loaded())[side]?.parse(given) ?? { problems: [`The tool "${name}" has no ${side}`] },
  });
  return {
    ...facts,
    input: late(input, "input"),
    ...(output && { output: late(output, "output") }),
    ...(value && { value: late(value, "value") }),
    run: async (context, args) => (await loaded()).run(context, args),
  };
}
