import { BelljarError } from "../errors.ts";
import type { Tool } from "./tool.ts";
import { hasMoreValues, VALUES_MAX } from "./value-count.ts";

const SHOWN_MAX = 20;

/** The arguments as the tool's own type. Rejects with `ARGUMENTS_INVALID`, listing each bad field. `caller`: the id of whoever gives them. */
export async function parseArguments(tool: Tool, args: unknown, caller?: string): Promise<unknown> {
  if (hasMoreValues(args)) throw tooMany(tool);
  const parsed = await tool.input.parse(args ?? {}, caller);
  if ("value" in parsed) return parsed.value;
  const { problems } = parsed;
  const lines = problems.slice(0, SHOWN_MAX).map((problem) => `- ${problem}`);
  const more = problems.length > SHOWN_MAX ? [`- and ${problems.length - SHOWN_MAX} more`] : [];
  throw new BelljarError("ARGUMENTS_INVALID", [`The arguments of ${tool.name} are not valid:`, ...lines, ...more].join("\n"));
}

/** A schema finds a problem with each of a million values, and each costs far more than the value. */
function tooMany({ name }: Tool): BelljarError {
  return new BelljarError("ARGUMENTS_INVALID", `The arguments of ${name} hold more than ${VALUES_MAX} values; give fewer at once`);
}
