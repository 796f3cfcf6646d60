import type { Node, ParseError } from "jsonc-parser";
import { parseTree, printParseErrorCode } from "jsonc-parser";
import { parse as parseToml, TomlError } from "smol-toml";
import { BelljarError } from "../../../errors.ts";
import { isRecord } from "./is-record.ts";

/** Claude Code keeps the whole state of its projects beside its servers. */
const CHARACTERS_MAX = 16 * 1024 * 1024;

export type SettingsFormat = "jsonc" | "toml";

/** The content of a file with settings. */
export interface Settings {
  readonly value: Readonly<Record<string, unknown>>;
  /** The keys that an object has twice. `path` leads to the object. */
  repeated(path: readonly string[]): ReadonlySet<string>;
}

/**
 * Reads JSON with comments and trailing commas, or TOML. Keys such as `__proto__` are ordinary keys. Throws `CONFIG_INVALID`, with the file
 * and the line, for a text that cannot be read or is too large.
 */
export function parseSettings(text: string, file: string, format: SettingsFormat): Settings {
  if (text.length > CHARACTERS_MAX) throw new BelljarError("CONFIG_INVALID", `${file} has over ${CHARACTERS_MAX} characters`);
  const content = text.startsWith("\uFEFF") ? text.slice(1) : text;
  try {
    return format === "toml" ? readToml(content, file) : readJson(content, file);
  } catch (cause) {
    if (cause instanceof RangeError) throw new BelljarError("CONFIG_INVALID", `${file} is nested too deep`, { cause });
    throw cause;
  }
}

function readToml(text: string, file: string): Settings {
  try {
    return { value: parseToml(text), repeated: () => new Set() };
  } catch (cause) {
    if (!(cause instanceof TomlError)) throw cause;
    const [problem = ""] = cause.message.split("\n");
    throw new BelljarError("CONFIG_INVALID", `${file}, line ${cause.line}: ${problem}`, { cause });
  }
}

function readJson(text: string, file: string): Settings {
  const errors: ParseError[] = [];
  const tree = text.trim() === "" ? undefined : parseTree(text, errors, { allowTrailingComma: true });
  const [error] = errors;
  if (error)
    throw new BelljarError(
      "CONFIG_INVALID",
      `${file}, line ${lineAt(text, error.offset)}: ${printParseErrorCode(error.error)} in its JSON`,
    );
  const value = tree ? toValue(tree) : undefined;
  if (!tree || !isRecord(value)) throw new BelljarError("CONFIG_INVALID", `${file} holds no JSON object`);
  return { value, repeated: (path) => repeatedKeys(objectAt(tree, path)) };
}

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length;
}

/** The last one of a repeated key counts, as in the hosts. `Object.fromEntries` gives an object own keys of every name. */
function toValue(node: Node): unknown {
  if (node.type === "array") return (node.children ?? []).map(toValue);
  if (node.type !== "object") return node.value as unknown;
  return Object.fromEntries(propertiesOf(node).map(([key, value]) => [key, toValue(value)]));
}

function propertiesOf(node: Node): readonly (readonly [string, Node])[] {
  return (node.children ?? []).flatMap(({ children: [key, value] = [] }) => (key && value ? [[String(key.value), value] as const] : []));
}

function objectAt(node: Node, path: readonly string[]): Node | undefined {
  const [key, ...rest] = path;
  if (key === undefined) return node;
  const found = propertiesOf(node).findLast(([name]) => name === key);
  return found && objectAt(found[1], rest);
}

function repeatedKeys(node: Node | undefined): ReadonlySet<string> {
  const keys = node?.type === "object" ? propertiesOf(node).map(([key]) => key) : [];
  const seen = new Set<string>();
  return new Set(keys.filter((key) => seen.has(key) || !seen.add(key)));
}
