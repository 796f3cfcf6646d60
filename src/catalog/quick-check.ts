/** What a check of one value may cost without a limit of its time: parts of the schema times those of the value. It takes a millisecond or so. */
const STEPS_MAX = 20_000;
/** So many characters of a text cost as much as one more value. */
const CHARACTERS = 64;

/** Words that hold no schema, and compare a value with themselves alone. */
const PLAIN = new Set([
  ...["type", "enum", "const", "required", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"],
  ...["multipleOf", "minItems", "maxItems", "minProperties", "maxProperties"],
]);
/** Words that the validator does not look at; formats are ignored. */
const SILENT = new Set([
  ...["title", "description", "default", "examples", "format", "deprecated", "readOnly", "writeOnly"],
  ...["$schema", "$comment", "contentEncoding", "contentMediaType", "x-mcp-header"],
]);
const ONE = new Set(["additionalProperties", "items", "not", "if", "then", "else"]);
const SEVERAL = new Set(["allOf", "anyOf", "oneOf", "prefixItems"]);

/**
 * The number of parts of a schema each of which looks at a value once, so that a check takes no longer than both together say. Undefined where
 * the schema has any other word, such as a pattern or a reference. It may be nested as deep as the caller has bounded.
 */
export function countParts(schema: unknown): number | undefined {
  if (!isRecord(schema)) return typeof schema === "boolean" ? 1 : undefined;
  let count = 1;
  for (const [word, value] of Object.entries(schema)) {
    const parts = countWord(word, value);
    if (parts === undefined) return undefined;
    count += parts;
  }
  return count;
}

function countWord(word: string, value: unknown): number | undefined {
  if (SILENT.has(word)) return 0;
  if (PLAIN.has(word)) return costOf(value, Infinity);
  if (ONE.has(word)) return countParts(value);
  if (SEVERAL.has(word)) return Array.isArray(value) ? sum(value) : undefined;
  if (word === "properties") return isRecord(value) ? sum(Object.values(value)) : undefined;
  return undefined;
}

function sum(schemas: readonly unknown[]): number | undefined {
  let count = schemas.length;
  for (const schema of schemas) {
    const parts = countParts(schema);
    if (parts === undefined) return undefined;
    count += parts;
  }
  return count;
}

/** Whether a schema of so many parts checks this value at once, whatever both are. */
export function isQuick(parts: number, value: unknown): boolean {
  return costOf(value, STEPS_MAX / parts) <= STEPS_MAX / parts;
}

/** Of parsed JSON. Calls nothing recursively, and counts no further than `max`. */
function costOf(json: unknown, max: number): number {
  const left = [json];
  let cost = 0;
  for (let next = left.pop(); cost <= max; next = left.pop()) {
    cost += typeof next === "string" ? 1 + next.length / CHARACTERS : 1;
    if (typeof next === "object" && next !== null) for (const value of Object.values(next)) left.push(value);
    if (left.length === 0) break;
  }
  return cost;
}

function isRecord(json: unknown): json is Readonly<Record<string, unknown>> {
  return typeof json === "object" && json !== null && !Array.isArray(json);
}
