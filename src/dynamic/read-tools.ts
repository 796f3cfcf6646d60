import type { JsonSchemas } from "../catalog/json-schemas.ts";
import { cutAtLine } from "../catalog/result.ts";
import { BelljarError } from "../errors.ts";
import type { ToldTool } from "./harness/harness-messages.ts";
import { isReservedName, toToolName } from "./tool-name.ts";
import type { ReadTool } from "./unit.ts";

/** In bytes, below what hosts take. */
const DESCRIPTION_MAX = 2_000;

export interface ToolRules {
  readonly schemas: JsonSchemas;
  readonly owner: string;
  /** What else has the name, as the end of a sentence. Undefined: nothing. */
  readonly findTaken: (name: string) => string | undefined;
}

/** The tools as callers will see them. Throws `TOOL_INVALID` for one that nobody could use, and `TOOL_NAME_TAKEN`. */
export function toReadTools(told: readonly ToldTool[], rules: ToolRules): readonly ReadTool[] {
  if (told.length === 0) throw new BelljarError("TOOL_INVALID", "The code has no tool: mark a function as one");
  const tools = told.map((one) => toReadTool(one, rules));
  for (const [index, { name }] of tools.entries()) {
    if (tools.findIndex((other) => other.name === name) < index)
      throw new BelljarError("TOOL_INVALID", `The code has two tools that callers would see as "${name}": rename one`);
  }
  return tools;
}

function toReadTool(told: ToldTool, { schemas, owner, findTaken }: ToolRules): ReadTool {
  const name = toToolName(told.name);
  if (isReservedName(name))
    throw new BelljarError("TOOL_NAME_TAKEN", `The beginning of "${name}" is kept for Belljar's own tools: choose another name`);
  const taken = findTaken(name);
  if (taken !== undefined) throw new BelljarError("TOOL_NAME_TAKEN", `The name "${name}" has ${taken}: choose another one`);
  const title = told.title ?? (name === told.name ? undefined : told.name);
  for (const side of ["inputSchema", "outputSchema"] as const) assertUsable(told, side, () => schemas.read(told[side], owner));
  return {
    name,
    function: told.function,
    description: cut(told.description.trim()),
    inputSchema: told.inputSchema,
    ...(title !== undefined && { title }),
    ...(told.outputSchema && { outputSchema: told.outputSchema }),
    ...(told.annotations && { annotations: told.annotations }),
  };
}

function assertUsable(told: ToldTool, side: "inputSchema" | "outputSchema", read: () => unknown): void {
  if (told[side] === undefined) return;
  try {
    read();
  } catch (cause) {
    if (!(cause instanceof BelljarError)) throw cause;
    throw new BelljarError("TOOL_INVALID", `The ${side} of "${told.name.slice(0, 100)}": ${cause.message}`, { cause });
  }
}

function cut(description: string): string {
  const shown = cutAtLine(description, DESCRIPTION_MAX);
  return shown === description ? shown : `${shown.trimEnd()} …`;
}
