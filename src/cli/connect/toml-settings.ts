import { isDeepStrictEqual } from "node:util";
import { parse, stringify } from "smol-toml";
import { BelljarError } from "../../errors.ts";
import type { Placement } from "./placement.ts";

/** Adds one table at the end of a TOML text; the rest stays as it is. A table that is there and says something else is the person's to change. */
export function placeInToml(
  text: string,
  path: readonly [table: string, name: string],
  value: Readonly<Record<string, unknown>>,
): Placement {
  const [table, name] = path;
  const present = (read(text)[table] as Readonly<Record<string, unknown>> | undefined)?.[name];
  if (isDeepStrictEqual(present, value)) return { text: undefined };
  if (present !== undefined) {
    throw new BelljarError("CONFIG_INVALID", `it has a [${table}.${name}] that says something else: remove it, or choose another --name`);
  }
  const placed = `${text}${text === "" || text.endsWith("\n") ? "" : "\n"}${text === "" ? "" : "\n"}${stringify({ [table]: { [name]: value } })}`;
  // An inline `mcp_servers = {}` cannot be added to.
  if (!isDeepStrictEqual((read(placed)[table] as Readonly<Record<string, unknown>>)[name], value)) throw unreadable();
  return { text: placed };
}

function read(text: string): Readonly<Record<string, unknown>> {
  try {
    // Plain objects, as those that they are compared with.
    return structuredClone(parse(text));
  } catch (cause) {
    throw unreadable(cause);
  }
}

function unreadable(cause?: unknown): BelljarError {
  return new BelljarError("CONFIG_INVALID", "it is no TOML that a table can be added to", { cause });
}
