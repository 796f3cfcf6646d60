import { isDeepStrictEqual } from "node:util";
import { applyEdits, modify, parse as parseJsonc } from "jsonc-parser";
import type { ParseError } from "jsonc-parser";
import { BelljarError } from "../../errors.ts";
import { parse, stringify } from "smol-toml";

export interface Placement {
  /** The new text of the host's file. Undefined if the server is already in it. */
  readonly text: string | undefined;
}

const FORMAT = { formattingOptions: { insertSpaces: true, tabSize: 2, insertFinalNewline: true } };

/** Whether a different entry may be replaced. */
export interface PlaceOptions {
  readonly force?: boolean;
}

/**
 * Sets one value in a JSON text with comments. All other text stays unchanged. Throws `CONFIG_INVALID`, with both values, if a different one
 * is there, unless `force`.
 */
export function placeInJson(
  text: string,
  path: [table: string, name: string],
  value: Readonly<Record<string, unknown>>,
  { force = false }: PlaceOptions = {},
): Placement {
  const [table, name] = path;
  const source = text.trim() === "" ? "{}\n" : text;
  const settings = readJson(source);
  const servers = settings[table] as Readonly<Record<string, unknown>> | undefined;
  const present = servers?.[name];
  if (isDeepStrictEqual(present, value)) return { text: undefined };
  if (present !== undefined && !force) throw isDifferent(path, present, value);
  const placed = editJson(source, path, value);
  // Hosts take the last of two values of one name, and an edit changes the first.
  if (!isDeepStrictEqual(readJson(placed), { ...settings, [table]: { ...servers, [name]: value } })) throw notJson();
  return { text: placed };
}

function readJson(text: string): Readonly<Record<string, unknown>> {
  const errors: ParseError[] = [];
  try {
    const value: unknown = parseJsonc(text, errors, { allowTrailingComma: true });
    if (errors.length === 0 && typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  } catch (cause) {
    // Nested deeper than the stack.
    throw notJson(cause);
  }
  throw notJson();
}

/** The values on the way there may be of any type. */
function editJson(source: string, path: string[], value: unknown): string {
  try {
    return applyEdits(source, modify(source, path, value, FORMAT));
  } catch (cause) {
    throw notJson(cause);
  }
}

function notJson(cause?: unknown): BelljarError {
  const problem = "it holds no JSON object, or has no room for the server: edit it by hand, as --print shows it";
  return new BelljarError("CONFIG_INVALID", problem, { cause });
}

function isDifferent(path: readonly string[], before: unknown, value: unknown): BelljarError {
  const advice = "replace it with --force, or choose another --name";
  const both = `- ${JSON.stringify(before)}\n+ ${JSON.stringify(value)}`;
  return new BelljarError("CONFIG_INVALID", `it has a different ${path.join(".")}: ${advice}\n${both}`);
}

/**
 * Adds one table at the end of a TOML text. All other text stays unchanged. Throws `CONFIG_INVALID`, with both values, if a different table
 * exists. With `force` that one, and the tables below it, make room.
 */
export function placeInToml(
  text: string,
  path: readonly [table: string, name: string],
  value: Readonly<Record<string, unknown>>,
  { force = false }: PlaceOptions = {},
): Placement {
  const [table, name] = path;
  const settings = readToml(text);
  const tables = settings[table] as Readonly<Record<string, unknown>> | undefined;
  const present = tables?.[name];
  if (isDeepStrictEqual(present, value)) return { text: undefined };
  if (present !== undefined && !force) throw isDifferent(path, present, value);
  const rest = present === undefined ? text : withoutTable(text, path);
  const placed = `${rest}${rest === "" || rest.endsWith("\n") ? "" : "\n"}${rest === "" ? "" : "\n"}${stringify({ [table]: { [name]: value } })}`;
  // An inline table such as `mcp_servers = {}` cannot be extended, and the lines of a text may look like the head of a table.
  if (!isDeepStrictEqual(readToml(placed), { ...settings, [table]: { ...tables, [name]: value } })) throw notToml();
  return { text: placed };
}

/** The text without the lines of a table and of those below it. Comments stay. */
function withoutTable(text: string, [table, name]: readonly [table: string, name: string]): string {
  let isInside = false;
  const kept = text.split(/(?<=\n)/).filter((line) => {
    if (/^\s*\[/.test(line)) isInside = isHeadOf(line, table, name) ?? isInside;
    return !isInside || /^\s*#/.test(line);
  });
  return kept.join("").trimEnd();
}

/** Undefined for a line that is no head of a table. */
function isHeadOf(line: string, table: string, name: string): boolean | undefined {
  try {
    const found = (parse(line) as Readonly<Record<string, unknown>>)[table];
    return typeof found === "object" && found !== null && Object.hasOwn(found, name);
  } catch {
    return undefined;
  }
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
  const problem = "it is not TOML, or its form leaves no room for the table: edit it by hand, as --print shows it";
  return new BelljarError("CONFIG_INVALID", problem, { cause });
}
