import { isRecord } from "../mcp/client/config/is-record.ts";
import { didYouMean } from "../files/suggest.ts";

export type Fields = Readonly<Record<string, unknown>>;

/** What a JSON Schema takes as one value, as far as it decides how a text is read. */
export interface FieldForm {
  /** Values that it names one by one. */
  readonly values?: readonly unknown[];
  /** JSON types beside these. `any`: the schema names none. */
  readonly types: ReadonlySet<string> | "any";
  /** Of a list: what one of its items takes. */
  readonly items?: () => FieldForm;
}

/** A schema may name itself, and a server's may be hostile: beyond these it says nothing. */
const DEPTH_MAX = 8;
const PARTS_MAX = 200;

/** What the schema of an object says of one of its fields; of one that it does not have, those that it has and a hint. */
export function findField(
  schema: Fields,
  key: string,
): { readonly form: FieldForm } | { readonly known: readonly string[]; readonly meant: string } {
  const parts = partsOf(schema, schema);
  const declared = parts.map(({ properties }) => properties).filter(isRecord);
  const own = declared.filter((properties) => Object.hasOwn(properties, key)).map((properties) => properties[key]);
  if (own.length > 0) return { form: formOf(own.length === 1 ? own[0] : { anyOf: own }, schema) };
  const open = parts.map(({ additionalProperties }) => additionalProperties).filter((more) => more === true || isRecord(more));
  if (open.length > 0) return { form: formOf(open[0], schema) };
  if (declared.length === 0 && parts.every(({ additionalProperties }) => additionalProperties !== false))
    return { form: formOf({}, schema) };
  const known = declared.flatMap((properties) => Object.keys(properties));
  return { known, meant: didYouMean(key, known) };
}

/** What the schema, which is a part of `root`, takes as one value. */
export function formOf(schema: unknown, root: Fields): FieldForm {
  const parts = partsOf(schema, root);
  const values = parts.flatMap((part) =>
    Array.isArray(part["enum"]) ? (part["enum"] as unknown[]) : "const" in part ? [part["const"]] : [],
  );
  const types = new Set(parts.filter((part) => !("enum" in part) && !("const" in part)).flatMap(typesOf));
  const list = parts.find((part) => typesOf(part).includes("array"));
  return {
    ...(values.length > 0 && { values }),
    types: types.size === 0 && values.length === 0 ? "any" : types,
    ...(list && { items: () => formOf(list["items"], root) }),
  };
}

function typesOf({ type }: Fields): readonly string[] {
  const given: readonly unknown[] = Array.isArray(type) ? type : [type];
  return given.filter((one) => typeof one === "string");
}

/** The schema and those that it is made of, `$ref` of the same document followed. */
function partsOf(schema: unknown, root: Fields): readonly Fields[] {
  const parts: Fields[] = [];
  const waiting: { readonly part: unknown; readonly depth: number }[] = [{ part: schema, depth: 0 }];
  for (const { part, depth } of waiting) {
    if (!isRecord(part) || depth > DEPTH_MAX || parts.length >= PARTS_MAX) continue;
    parts.push(part);
    const inner = [part["anyOf"], part["oneOf"], part["allOf"]].flatMap((list) => (Array.isArray(list) ? (list as unknown[]) : []));
    const named = typeof part["$ref"] === "string" ? [followPointer(root, part["$ref"])] : [];
    waiting.push(...[...inner, ...named].slice(0, PARTS_MAX).map((one) => ({ part: one, depth: depth + 1 })));
  }
  return parts;
}

function followPointer(root: Fields, reference: string): unknown {
  if (!reference.startsWith("#")) return undefined;
  const steps = reference.slice(1).split("/").slice(1);
  return steps.reduce<unknown>((inner, step) => {
    const key = step.replaceAll("~1", "/").replaceAll("~0", "~");
    return typeof inner === "object" && inner !== null && Object.hasOwn(inner, key) ? Reflect.get(inner, key) : undefined;
  }, root);
}
