import type * as z from "zod";
import { BelljarError } from "../errors.ts";
import type { Tool } from "./tool.ts";
import { hasMoreValues, VALUES_MAX } from "./value-count.ts";

const SHOWN_MAX = 20;

/** The arguments as the tool's own type. Rejects with `ARGUMENTS_INVALID`, listing each bad field. */
export function parseArguments(tool: Tool, args: unknown): unknown {
  if (hasMoreValues(args)) throw tooMany(tool);
  const parsed = tool.input.safeParse(args ?? {});
  if (parsed.success) return parsed.data;
  const { issues } = parsed.error;
  const lines = issues.slice(0, SHOWN_MAX).map((issue) => `- ${describeIssue(issue)}`);
  const more = issues.length > SHOWN_MAX ? [`- and ${issues.length - SHOWN_MAX} more`] : [];
  throw new BelljarError("ARGUMENTS_INVALID", [`The arguments of ${tool.name} are not valid:`, ...lines, ...more].join("\n"));
}

/** A schema finds a problem with each of a million values, and each costs far more than the value. */
function tooMany({ name }: Tool): BelljarError {
  return new BelljarError("ARGUMENTS_INVALID", `The arguments of ${name} hold more than ${VALUES_MAX} values; give fewer at once`);
}

function describeIssue(issue: z.core.$ZodIssue): string {
  const field = issue.path.map(String).join(".").slice(0, 200);
  const message = issue.message.slice(0, 500);
  return field === "" ? message : `${field}: ${message}`;
}
