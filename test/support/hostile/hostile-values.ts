import { HOSTILE_TEXTS, SHORT_TEXTS } from "./hostile-texts.ts";

/** The parts of a JSON Schema that a value is made from. */
export interface Schema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
}

export interface HostileValue {
  readonly what: string;
  readonly value: unknown;
}

/** What names something that there is, by the name of the field: a value made up would be refused before any work. */
export interface KnownValues {
  /** Paths of files in the sandbox, for the fields that take one. */
  readonly files: readonly string[];
  readonly values: Readonly<Record<string, unknown>>;
  readonly share: Share;
}

/** A part of a list. Each call goes on where the one before stopped, and begins anew after the last, so that all are taken as often. */
export type Share = <T>(list: readonly T[]) => readonly T[];

/** `part` 1 takes every list whole. */
export function createShare(part: number): Share {
  let taken = 0;
  return (list) => {
    if (part >= 1) return list;
    const count = Math.ceil(list.length * part);
    const from = taken % Math.max(1, list.length);
    taken += count;
    return [...list, ...list].slice(from, from + count);
  };
}

/** JSON that no serialiser would write, put into the request as it stands. */
export class RawJson {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** What one request may hold, with some room for what is around it. */
const REQUEST_BYTES = 4 * 1_048_576 - 65_536;
const PATH_LENGTH = 4_096;
const DEEP = 100_000;
/** As many values as the door lets in, nearly. */
const MANY = 9_000;

/** The least that a schema takes; with `all`, every field that it names. */
export function sampleOf(schema: Schema, known: KnownValues, all = false): unknown {
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  const choice = schema.anyOf?.[0] ?? schema.oneOf?.[0];
  if (choice) return sampleOf(choice, known, all);
  switch (typeOf(schema) ?? "any") {
    case "object":
      return sampleObject(schema, known, all);
    case "array":
      return Array.from({ length: Math.max(1, schema.minItems ?? 0) }, () => sampleOf(schema.items ?? {}, known, all));
    case "integer":
    case "number":
      return Math.max(1, schema.minimum ?? 1);
    case "boolean":
      return true;
    default:
      return sampleText(schema);
  }
}

function sampleObject({ properties = {}, required = [] }: Schema, known: KnownValues, all: boolean): Record<string, unknown> {
  const names = Object.keys(properties).filter((name) => required.includes(name) || (all && name !== "sandbox"));
  // Texts that differ: a tool may refuse to replace a text by itself.
  return Object.fromEntries(
    names.map((name, index) => {
      const sample = known.values[name] ?? sampleOf(properties[name] ?? {}, known, all);
      return [name, sample === "a" ? "abcdefgh".charAt(index % 8) : sample];
    }),
  );
}

function sampleText({ minLength = 1, format }: Schema): string {
  return format === "uri" ? "http://127.0.0.1/" : "a".repeat(Math.max(1, minLength));
}

/** Every field of the schema, and all of it, in every hostile form that a request can carry. */
export function* hostileValues(schema: Schema, base: unknown, known: KnownValues): Generator<HostileValue> {
  yield* hostileObject(schema, base, known);
  yield { what: "9,000 unknown keys", value: { ...(base as object), ...manyKeys(MANY, 1) } };
  yield { what: "100,000 unknown keys", value: { ...(base as object), ...manyKeys(100_000, 1) } };
  yield { what: "a million items for an object", value: new RawJson(`[${"0,".repeat(1_000_000)}0]`) };
}

function* hostileObject(schema: Schema, base: unknown, known: KnownValues): Generator<HostileValue> {
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    for (const { what, value } of hostileField(field, known)) {
      yield { what: `${name}: ${what}`, value: { ...(base as object), [name]: value } };
    }
  }
}

function* hostileField(schema: Schema, known: KnownValues): Generator<HostileValue> {
  for (const choice of schema.anyOf ?? schema.oneOf ?? []) yield* hostileField(choice, known);
  switch (typeOf(schema) ?? "any") {
    case "string":
      yield* hostileStrings(schema, known);
      return;
    case "array":
      yield* hostileArrays(schema, known);
      return;
    case "integer":
    case "number":
      yield* [schema.minimum ?? -1, schema.maximum ?? Number.MAX_SAFE_INTEGER, 1e308].map((value) => ({ what: String(value), value }));
      return;
    case "boolean":
      yield* [true, false].map((value) => ({ what: String(value), value }));
      return;
    default:
      yield* hostileObject(schema, sampleOf(schema, known), known);
      yield { what: "nested arrays", value: new RawJson("[".repeat(DEEP) + "]".repeat(DEEP)) };
      yield { what: "9,000 keys", value: manyKeys(MANY, typeof schema.additionalProperties === "object" ? "a" : 1) };
  }
}

function* hostileStrings(schema: Schema, known: KnownValues): Generator<HostileValue> {
  const { maxLength = REQUEST_BYTES } = schema;
  if (schema.enum) return;
  const isLong = maxLength > PATH_LENGTH;
  const texts = Object.entries(HOSTILE_TEXTS).filter(([what]) => isLong || SHORT_TEXTS.includes(what));
  if (maxLength === PATH_LENGTH) yield* known.share(known.files).map((value) => ({ what: value.slice(0, 60), value }));
  yield* known.share(texts).map(([what, make]) => ({ what, value: make().slice(0, maxLength) }));
}

function* hostileArrays({ items = {}, maxItems = MANY }: Schema, known: KnownValues): Generator<HostileValue> {
  yield { what: "9,000 items of another type", value: Array(MANY).fill(0) };
  yield { what: `${maxItems} items`, value: Array.from({ length: maxItems }, () => sampleOf(items, known)) };
  if (typeOf(items) === "object") {
    for (const { what, value } of hostileObject(items, sampleOf(items, known, true), known)) yield { what: `of ${what}`, value: [value] };
    return;
  }
  if (typeOf(items) !== "string" || items.enum) return;
  const length = Math.min(items.maxLength ?? REQUEST_BYTES, Math.floor(REQUEST_BYTES / maxItems));
  for (const what of [...SHORT_TEXTS, "runs of one character"]) {
    const text = HOSTILE_TEXTS[what]?.().slice(0, length);
    if (JSON.stringify(text).length * maxItems < REQUEST_BYTES)
      yield { what: `${maxItems} times ${what}`, value: Array(maxItems).fill(text) };
  }
}

function manyKeys(count: number, value: unknown): Record<string, unknown> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, value]));
}

function typeOf({ type, properties, items }: Schema): string | undefined {
  if (Array.isArray(type)) return (type as readonly string[]).find((one) => one !== "null");
  return (type as string | undefined) ?? (properties ? "object" : items ? "array" : undefined);
}

/** The text of a request, with what no serialiser would write. */
export function toJson(body: unknown): string {
  const raw: string[] = [];
  const text = JSON.stringify(body, (_key, value: unknown) => (value instanceof RawJson ? `raw-json-${raw.push(value.text) - 1}` : value));
  return raw.reduce((whole, one, index) => whole.replace(`"raw-json-${index}"`, () => one), text);
}
