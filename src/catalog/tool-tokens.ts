import type { Tool } from "./tool.ts";

const CHARACTERS_A_TOKEN = 4;
const KNOWN = new WeakMap<object, number>();

/** What a tool in a list costs a context, about: its name, its description and the schema of its arguments. */
export function toolTokens({ name, description, input }: Pick<Tool, "name" | "description" | "input">): number {
  const known = KNOWN.get(input);
  if (known !== undefined) return known;
  const tokens = Math.ceil((name.length + description.length + JSON.stringify(input.schema).length) / CHARACTERS_A_TOKEN);
  KNOWN.set(input, tokens);
  return tokens;
}
