import { isRecord } from "./config/is-record.ts";

/**
 * Arguments that a tool's schema wants as HTTP headers too, as the revision 2026-07-28 says: a property with `x-mcp-header: Region` is sent
 * as `Mcp-Param-Region`, so that what stands before a server may route by it.
 */
export interface ParamHeader {
  readonly path: readonly string[];
  readonly name: string;
}

const KEY = "x-mcp-header";
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const TYPES: readonly unknown[] = ["string", "integer", "boolean"];
/** Values, which may hold anything. */
const VALUES: readonly string[] = ["default", "enum", "const", "examples"];
const DEPTH_MAX = 64;
/** What stands before a server takes about as many. */
const HEADERS_MAX = 100;
const ENCODED = /^=\?base64\?.*\?=$/;
/** Header values of visible characters, with spaces and tabs between them. */
const PLAIN = /^[!-~](?:[\t -~]*[!-~])?$/;

/** The headers that a schema names, or why it may not be called over HTTP. */
export function readParamHeaders(schema: unknown): { readonly headers: readonly ParamHeader[] } | { readonly problem: string } {
  const headers: ParamHeader[] = [];
  const problem = visit(schema, { path: [], isReachable: true, depth: 0 }, headers);
  if (problem !== undefined) return { problem };
  const seen = new Set<string>();
  const twice = headers.map(({ name }) => name.toLowerCase()).find((name) => seen.size === seen.add(name).size);
  return twice === undefined ? { headers } : { problem: `two properties have the ${KEY} ${JSON.stringify(twice)}` };
}

interface Place {
  /** The properties that lead here. */
  readonly path: readonly string[];
  /** False below anything but `properties`: an argument there may be absent, or many. */
  readonly isReachable: boolean;
  readonly depth: number;
}

/** Adds the headers below a schema. Gives the first problem. */
function visit(node: unknown, { path, isReachable, depth }: Place, headers: ParamHeader[]): string | undefined {
  if (depth > DEPTH_MAX || typeof node !== "object" || node === null) return undefined;
  const inside = (child: unknown, place: Partial<Place>): string | undefined =>
    visit(child, { path, isReachable: false, depth: depth + 1, ...place }, headers);
  if (!isRecord(node)) return firstProblem(Object.values(node), (child) => inside(child, {}));
  if (Object.hasOwn(node, KEY)) {
    const problem = isReachable && path.length > 0 ? problemOf(node) : `it stands where no property of its own does`;
    if (problem !== undefined) return `${KEY} of ${JSON.stringify(path.join("."))}: ${problem}`;
    if (headers.length === HEADERS_MAX) return `more than ${HEADERS_MAX} properties have an ${KEY}`;
    headers.push({ path, name: String(node[KEY]) });
  }
  return firstProblem(Object.entries(node), ([key, child]) => {
    if (key !== "properties" || !isRecord(child)) return VALUES.includes(key) ? undefined : inside(child, {});
    return firstProblem(Object.entries(child), ([name, property]) => inside(property, { path: [...path, name], isReachable }));
  });
}

function firstProblem<Item>(items: readonly Item[], check: (item: Item) => string | undefined): string | undefined {
  for (const item of items) {
    const problem = check(item);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function problemOf({ [KEY]: name, type }: Readonly<Record<string, unknown>>): string | undefined {
  if (typeof name !== "string" || !TOKEN.test(name)) return "it is no name of a header";
  return TYPES.includes(type) ? undefined : "its type must be string, integer or boolean";
}

/** The headers of one call. What is absent, null or no plain value has none. */
export function toParamHeaders(headers: readonly ParamHeader[], args: unknown): Readonly<Record<string, string>> {
  const found = headers.flatMap(({ path, name }) => {
    const value = path.reduce<unknown>((inner, key) => (isRecord(inner) && Object.hasOwn(inner, key) ? inner[key] : undefined), args);
    const isPlain = typeof value === "string" || typeof value === "boolean" || Number.isSafeInteger(value);
    return isPlain ? [[`Mcp-Param-${name}`, encodeHeader(String(value))] as const] : [];
  });
  return Object.fromEntries(found);
}

/** As a header has it, whatever characters it holds. */
export function encodeHeader(text: string): string {
  return PLAIN.test(text) && !ENCODED.test(text) ? text : `=?base64?${Buffer.from(text).toString("base64")}?=`;
}
