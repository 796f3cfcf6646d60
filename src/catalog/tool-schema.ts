import * as z from "zod";
import type { Accept } from "./accept.ts";
import { easeArguments, isFields } from "./ease.ts";
import { explainIssue } from "./explain-issue.ts";

/** JSON Schema 2020-12 of an object. */
export type JsonSchema = { readonly type: "object" } & Readonly<Record<string, unknown>>;

/** What arguments or a result look like: shown to callers, and checked by the same schema. */
export interface ToolSchema<Value = unknown> {
  readonly schema: JsonSchema;
  /** Never throws. Rejects only if the code of a tool cannot be loaded. `caller`: whose value it is, where a check may be refused for earlier ones. */
  parse(value: unknown, caller?: string): Parsed<Value> | Promise<Parsed<Value>>;
}

/** Each problem names its field; their texts are short, and there may be many. */
export type Parsed<Value> = { readonly value: Value } | { readonly problems: readonly string[] };

/** It answers at once. */
export interface ZodSchema<Value> extends ToolSchema<Value> {
  parse(value: unknown): Parsed<Value>;
}

export interface ZodSchemaOptions {
  /** `input` is the default. */
  readonly io?: "input" | "output";
  readonly accept?: Accept | undefined;
}

/**
 * A schema that comes with the program. Its JSON Schema is made when it is first shown. What does not fit is eased once, as clients of
 * every vendor send arguments.
 */
export function zodSchema<Schema extends z.ZodType>(
  zod: Schema,
  { io = "input", accept = (args) => args }: ZodSchemaOptions = {},
): ZodSchema<z.output<Schema>> {
  let shown: JsonSchema | undefined;
  return {
    get schema() {
      return (shown ??= toJsonSchema(zod, io));
    },
    parse(value) {
      const given = isFields(value) ? accept(value) : value;
      const strict = zod.safeParse(given);
      const parsed = strict.success ? strict : zod.safeParse(easeArguments(this.schema, given));
      if (parsed.success) return { value: parsed.data };
      return {
        problems: parsed.error.issues.map((issue) => toProblem(issue.path.map(String), explainIssue(issue, given, namesOf(this.schema)))),
      };
    },
  };
}

function namesOf({ properties }: JsonSchema): readonly string[] {
  return isFields(properties) ? Object.keys(properties) : [];
}

export function toProblem(path: readonly string[], message: string): string {
  const field = path.join(".").slice(0, 200);
  const text = message.slice(0, 500);
  return field === "" ? text : `${field}: ${text}`;
}

/** Without `$schema`: 2020-12 is the protocol's default, and clients whose validator only knows older drafts refuse the word. */
function toJsonSchema(schema: z.ZodType, io: "input" | "output"): JsonSchema {
  const override = ({ jsonSchema }: { jsonSchema: Record<string, unknown> }) => widen(jsonSchema);
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, target: "draft-2020-12", override });
  return { ...rest, type: "object" };
}

/** Leaves out what some vendors' readers of schemas refuse; the check of the arguments has it all the same. */
function widen(schema: Record<string, unknown>): void {
  delete schema["propertyNames"];
  delete schema["contentEncoding"];
  delete schema["readOnly"];
  // What no caller meets needs not be read by a model at every turn.
  if (schema["maximum"] === Number.MAX_SAFE_INTEGER) delete schema["maximum"];
  if (schema["minimum"] === Number.MIN_SAFE_INTEGER) delete schema["minimum"];
  for (const bound of ["maxLength", "maxItems"]) if (Number(schema[bound]) >= 50) delete schema[bound];
  const { pattern } = schema;
  if (typeof pattern === "string") schema["pattern"] = pattern.replaceAll("\\0", "\\u0000");
}
