import type { ZodType } from "zod";
import { isRecord } from "./define-tool.ts";
import type * as Zod from "./zod.ts";

export type Direction = "input" | "output";

type JsonSchema = Readonly<Record<string, unknown>>;
type ToSchema = (options: { readonly target: string }) => unknown;

interface Standard {
  readonly validate?: (value: unknown) => unknown;
  readonly jsonSchema?: Readonly<Record<Direction, ToSchema>>;
}

const DIALECT = "https://json-schema.org/draft/2020-12/schema";
const NOTHING: JsonSchema = { type: "object", properties: {}, additionalProperties: false };
const MAX_ISSUES = 10;

/** Why arguments or a result do not fit the tool's schema. */
export class Unfit extends Error {
  constructor(name: "ArgumentError" | "ResultError", message: string) {
    super(message);
    this.name = name;
  }
}

/** The JSON Schema of what a tool takes or gives: of zod, of another library with Standard JSON Schema, or as it is. Throws a `TypeError`. */
export async function toJsonSchema(schema: unknown, direction: Direction): Promise<JsonSchema> {
  if (schema === undefined) return NOTHING;
  if (!isRecord(schema) && typeof schema !== "function") throw new TypeError("it is no schema");
  const found = await readSchema(schema, direction);
  if (!isRecord(found) || found["type"] !== "object") throw new TypeError("it must be the schema of an object, such as z.object({ ... })");
  const { $schema: dialect, ...rest } = found;
  if (dialect !== undefined && dialect !== DIALECT) throw new TypeError("it must be JSON Schema 2020-12");
  return rest;
}

async function readSchema(schema: object, direction: Direction): Promise<unknown> {
  const standard = standardOf(schema);
  const options = { target: "draft-2020-12", io: direction } as const;
  if (standard?.jsonSchema) return standard.jsonSchema[direction](options);
  // A zod of the unit's own that does not know the standard yet.
  if ("_zod" in schema) return (await loadZod()).toJSONSchema(schema as ZodType, options);
  if (standard) throw new TypeError("its library gives no JSON Schema; use zod 4 or a JSON Schema");
  return schema;
}

/** Beside the harness's own file. */
export const ZOD_URL = new URL("./javascript-tools-zod.mjs", import.meta.url).href;

export async function loadZod(): Promise<typeof Zod> {
  return (await import(ZOD_URL)) as typeof Zod;
}

/** The arguments as the tool's own schema makes them. The host has held them against the JSON Schema before. */
export async function toArguments(input: unknown, given: Readonly<Record<string, unknown>>): Promise<unknown> {
  const standard = standardOf(input);
  return standard?.validate ? validate(standard, given, "ArgumentError") : withDefaults(input, given);
}

/** The result as the tool's own schema makes it. A plain JSON Schema is left to the host. */
export async function toStructured(output: unknown, result: unknown): Promise<unknown> {
  const standard = standardOf(output);
  const value = standard?.validate ? await validate(standard, result, "ResultError") : result;
  if (!isRecord(value)) throw new Unfit("ResultError", "The tool has an output schema, so that its result must be an object");
  return value;
}

async function validate(standard: Standard, value: unknown, name: "ArgumentError" | "ResultError"): Promise<unknown> {
  const outcome = (await standard.validate?.(value)) as { readonly value?: unknown; readonly issues?: readonly Issue[] };
  if (!outcome.issues) return outcome.value;
  throw new Unfit(name, outcome.issues.slice(0, MAX_ISSUES).map(describeIssue).join("; "));
}

interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[];
}

function describeIssue({ message, path = [] }: Issue): string {
  const keys = path.map((part) => String(typeof part === "object" ? part.key : part));
  return keys.length > 0 ? `${keys.join(".")}: ${message}` : message;
}

function withDefaults(input: unknown, given: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const properties = isRecord(input) && isRecord(input["properties"]) ? input["properties"] : {};
  const defaults = Object.entries(properties).flatMap(([name, schema]) =>
    isRecord(schema) && "default" in schema && !Object.hasOwn(given, name) ? [[name, structuredClone(schema["default"])] as const] : [],
  );
  return { ...Object.fromEntries(defaults), ...given };
}

function standardOf(schema: unknown): Standard | undefined {
  const isSchema = (typeof schema === "object" && schema !== null) || typeof schema === "function";
  return isSchema ? (schema as { readonly "~standard"?: Standard })["~standard"] : undefined;
}
