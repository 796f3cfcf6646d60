import * as z from "zod";

/** JSON Schema 2020-12 of an object. */
export type JsonSchema = { readonly type: "object" } & Readonly<Record<string, unknown>>;

/** What arguments or a result look like: shown to callers, and checked by the same schema. */
export interface ToolSchema<Value = unknown> {
  readonly schema: JsonSchema;
  /** Never throws. */
  parse(value: unknown): Parsed<Value>;
}

/** Each problem names its field; their texts are short, and there may be many. */
export type Parsed<Value> = { readonly value: Value } | { readonly problems: readonly string[] };

/** A schema that comes with the program. Its JSON Schema is made when it is first shown. */
export function zodSchema<Schema extends z.ZodType>(zod: Schema, io: "input" | "output" = "input"): ToolSchema<z.output<Schema>> {
  let shown: JsonSchema | undefined;
  return {
    get schema() {
      return (shown ??= toJsonSchema(zod, io));
    },
    parse(value) {
      const parsed = zod.safeParse(value);
      if (parsed.success) return { value: parsed.data };
      return { problems: parsed.error.issues.map(({ path, message }) => toProblem(path.map(String), message)) };
    },
  };
}

export function toProblem(path: readonly string[], message: string): string {
  const field = path.join(".").slice(0, 200);
  const text = message.slice(0, 500);
  return field === "" ? text : `${field}: ${text}`;
}

/** Without `$schema`: 2020-12 is the protocol's default, and clients whose validator only knows older drafts refuse the word. */
function toJsonSchema(schema: z.ZodType, io: "input" | "output"): JsonSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, target: "draft-2020-12" });
  return { ...rest, type: "object" };
}
