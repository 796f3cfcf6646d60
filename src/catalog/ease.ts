type Fields = Readonly<Record<string, unknown>>;

/** A part of a JSON Schema. */
type Part = Readonly<Record<string, unknown>>;

const NUMBER = /^-?(\d+(\.\d+)?|\.\d+)$/;
const DEPTH_MAX = 16;

/**
 * Arguments as the schema has them, where a client could not say it better: an optional field that is null, or empty where the schema takes
 * no empty text, is left out; numbers and booleans may be texts; names and values may be an object where the schema has a list of
 * `NAME=value`. Whatever else does not fit stays, for the schema to refuse.
 */
export function easeArguments(schema: Part, value: unknown, depth = 0): unknown {
  if (depth > DEPTH_MAX) return value;
  if (Array.isArray(value)) return easeList(schema, value, depth);
  if (isFields(value)) return schema["type"] === "array" ? toPairs(schema, value) : easeFields(schema, value, depth);
  return typeof value === "string" ? easeText(schema, value) : value;
}

function easeFields(schema: Part, value: Fields, depth: number): Fields {
  const { properties } = schema;
  if (!isFields(properties)) return value;
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  const eased = Object.entries(value).flatMap(([name, inner]): [string, unknown][] => {
    const part = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (!isFields(part)) return [[name, inner]];
    if (!required.includes(name) && (inner === null || (inner === "" && !takesEmpty(part)))) return [];
    return [[name, easeArguments(part, inner, depth + 1)]];
  });
  return Object.fromEntries(eased);
}

function easeList({ items }: Part, value: readonly unknown[], depth: number): readonly unknown[] {
  return isFields(items) ? value.map((inner) => easeArguments(items, inner, depth + 1)) : value;
}

function easeText({ type }: Part, value: string): unknown {
  if ((type === "integer" || type === "number") && NUMBER.test(value)) return Number(value);
  if (type === "boolean" && (value === "true" || value === "false")) return value === "true";
  return value;
}

function toPairs({ items }: Part, value: Fields): unknown {
  const isOfTexts = isFields(items) && items["type"] === "string";
  if (!isOfTexts || !Object.entries(value).every(([name, inner]) => typeof inner === "string" && !name.includes("="))) return value;
  return Object.entries(value).map(([name, inner]) => `${name}=${String(inner)}`);
}

/** An empty text means something in a field that takes texts of any length and any form. */
function takesEmpty({ type, minLength, pattern, enum: choices, format }: Part): boolean {
  return type === "string" && minLength === undefined && pattern === undefined && choices === undefined && format === undefined;
}

/** Whether a value is an object with names, and no list. */
export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
