import type * as z from "zod";
import { isFields } from "./ease.ts";

const SHOWN_KEYS = 5;
const SHOWN_KEY_CHARACTERS = 60;

/**
 * What is wrong with a value, in words for whoever gave it: that the field is missing, which fields there are, or what is expected. `known`
 * are the fields of the whole value. Of a rule of its own the schema's message.
 */
export function explainIssue(issue: z.core.$ZodIssue, given: unknown, known: readonly string[] = []): string {
  if (issue.code === "unrecognized_keys") {
    const keys = issue.keys.slice(0, SHOWN_KEYS).map((key) => JSON.stringify(key.slice(0, SHOWN_KEY_CHARACTERS)));
    const expected = issue.path.length === 0 && known.length > 0 ? `; expected ${known.join(", ")}` : "";
    return `unknown: ${keys.join(", ")}${expected}`;
  }
  const isMissing = valueAt(given, issue.path) === undefined;
  if (issue.code === "invalid_type") return isMissing ? `missing; expected ${issue.expected}` : `expected ${issue.expected}`;
  if (issue.code === "invalid_value" && isMissing)
    return `missing; expected ${issue.values.map((value) => JSON.stringify(value)).join(" or ")}`;
  return issue.message;
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((inner, key) => (isFields(inner) || Array.isArray(inner) ? Reflect.get(inner, key) : undefined), value);
}
