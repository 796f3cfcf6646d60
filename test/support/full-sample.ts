import * as z from "zod";

interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly propertyNames?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly pattern?: string;
  readonly exclusiveMinimum?: number;
}

/** One of these fits every pattern of the schemas. */
const TEXTS = ["text", "a1b2c3d4e5f6g7h8i9j0", "2026-01-02T03:04:05.678Z", "/srv/project", "https://host.example/debian"];

/** A value of the schema as it is on the wire, in which every field is there, however many the schema has. */
export function fullSample<Wanted extends z.ZodType>(schema: Wanted): z.input<Wanted> {
  return sample(z.toJSONSchema(schema, { io: "input" }) as Schema) as z.input<Wanted>;
}

function sample(schema: Schema): unknown {
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  // The last one is the richest: a policy's rules, and not a word.
  if (schema.anyOf) return sample(schema.anyOf.at(-1) ?? {});
  if (schema.oneOf) return sample(schema.oneOf[0] ?? {});
  if (schema.type === "array") return [sample(schema.items ?? {})];
  if (schema.type === "object") return sampleObject(schema);
  if (schema.type === "boolean") return true;
  if (schema.type === "integer" || schema.type === "number") return 7;
  return sampleText(schema);
}

function sampleObject({ properties, propertyNames, additionalProperties }: Schema): unknown {
  if (properties) return Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, sample(field)]));
  const value = typeof additionalProperties === "object" ? additionalProperties : {};
  return { [String(sample(propertyNames ?? {}))]: sample(value) };
}

function sampleText({ pattern = "" }: Schema): string {
  const found = TEXTS.find((text) => new RegExp(pattern).test(text));
  if (found === undefined) throw new TypeError(`No sample fits ${pattern}: add one`);
  return found;
}
