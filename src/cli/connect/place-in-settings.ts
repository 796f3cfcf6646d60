import { isDeepStrictEqual } from "node:util";
import { applyEdits, findNodeAtLocation, getNodeValue, modify, parseTree } from "jsonc-parser";
import type { ParseError } from "jsonc-parser";
import { BelljarError } from "../../errors.ts";
import { parse, stringify } from "smol-toml";

export interface Placement {
  /** The new text of the host's file. Undefined if the server is already in it. */
  readonly text: string | undefined;
}

const FORMAT = { formattingOptions: { insertSpaces: true, tabSize: 2, insertFinalNewline: true } };

/** Sets one value in a JSON text with comments. All other text stays unchanged. */
export function placeInJson(text: string, path: string[], value: Readonly<Record<string, unknown>>): Placement {
  const source = text.trim() === "" ? "{}\n" : text;
  const errors: ParseError[] = [];
  const root = parseTree(source, errors, { allowTrailingComma: true });
  if (errors.length > 0 || root?.type !== "object") throw new BelljarError("CONFIG_INVALID", "it holds no JSON object");
  const present = findNodeAtLocation(root, path);
  if (present && isDeepStrictEqual(structuredClone(getNodeValue(present)), value)) return { text: undefined };
  return { text: applyEdits(source, modify(source, path, value, FORMAT)) };
}

/** Adds one table at the end of a TOML text. All other text stays unchanged. Throws `CONFIG_INVALID` if a different table exists. */
export function placeInToml(
  text: string,
  path: readonly [table: string, name: string],
  value: Readonly<Record<string, unknown>>,
): Placement {
  const [table, name] = path;
  const present = (readToml(text)[table] as Readonly<Record<string, unknown>> | undefined)?.[name];
  if (isDeepStrictEqual(present, value)) return { text: undefined };
  if (present !== undefined) {
    throw new BelljarError("CONFIG_INVALID", `it has a different [${table}.${name}]: remove it, or choose another --name`);
  }
  const placed = `${text}${text === "" || text.endsWith("\n") ? "" : "\n"}${text === "" ? "" : "\n"}${stringify({ [table]: { [name]: value } })}`;
  // An inline table such as `mcp_servers = {}` cannot be extended.
  if (!isDeepStrictEqual((readToml(placed)[table] as Readonly<Record<string, unknown>>)[name], value)) throw notToml();
  return { text: placed };
}

function readToml(text: string): Readonly<Record<string, unknown>> {
  try {
    // Converts to plain objects, for the comparison.
    return structuredClone(parse(text));
  } catch (cause) {
    throw notToml(cause);
  }
}

function notToml(cause?: unknown): BelljarError {
  return new BelljarError("CONFIG_INVALID", "it is not TOML, or no table can be added to it", { cause });
}
