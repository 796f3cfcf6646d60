import type { JsonSchema } from "../../../catalog/tool-schema.ts";

/** How a language writes types. */
export interface Dialect {
  readonly words: Readonly<Record<"string" | "number" | "integer" | "boolean" | "null" | "any", string>>;
  readonly list: (item: string) => string;
  readonly map: (value: string) => string;
  /** Of values of JSON. */
  readonly oneOf: (values: readonly string[]) => string;
  readonly constant: (value: unknown) => string;
  readonly field: (name: string, type: string, isRequired: boolean) => string;
  readonly fields: (fields: readonly string[]) => string;
}

/** Parts of one schema that are written. What lies beyond is `any`. */
const PARTS_MAX = 200;
const LEVELS_MAX = 6;
const FIELDS_MAX = 100;
const CHOICES_MAX = 20;
const REQUIRED_MAX = 1_000;
/** In characters. What a longer one names is left out. */
const NAME_MAX = 200;
const REFERENCE_MAX = 1_000;

/** What may still be looked at for one answer: parts, and keys of their properties. Whatever is written counts it down. */
export interface Work {
  left: number;
}

type Fields = Readonly<Record<string, unknown>>;

/** A JSON Schema as a type, in bounded work and length whatever stands in the schema. What the language cannot say is `any`. */
export function schemaType(schema: JsonSchema, dialect: Dialect, work: Work): string {
  return new TypeWriter(schema, dialect, work).write(schema, 0);
}

/** Properties of the schema's object, with their types. */
export function schemaFields(schema: JsonSchema, dialect: Dialect, work: Work): readonly SchemaField[] {
  const writer = new TypeWriter(schema, dialect, work);
  const { properties, required } = writer.objectOf(schema);
  return properties.map(([name, property]) => {
    const description = isFields(property) && typeof property["description"] === "string" ? property["description"] : undefined;
    return { name, type: writer.write(property, 1), isRequired: required.has(name), description };
  });
}

export interface SchemaField {
  readonly name: string;
  readonly type: string;
  readonly isRequired: boolean;
  readonly description: string | undefined;
}

interface ObjectPart {
  readonly properties: readonly (readonly [string, unknown])[];
  readonly required: ReadonlySet<unknown>;
}

class TypeWriter {
  readonly #root: Fields;
  readonly #dialect: Dialect;
  readonly #work: Work;
  /** A schema may refer to one of its parts from all others. */
  readonly #objects = new Map<Fields, ObjectPart>();
  #parts = 0;

  constructor(root: Fields, dialect: Dialect, work: Work) {
    this.#root = root;
    this.#dialect = dialect;
    this.#work = work;
  }

  write(schema: unknown, level: number): string {
    const { words, oneOf, constant } = this.#dialect;
    this.#parts += 1;
    this.#work.left -= 1;
    if (!isFields(schema) || level > LEVELS_MAX || this.#parts > PARTS_MAX || this.#work.left <= 0) return words.any;
    if (typeof schema["$ref"] === "string") return this.write(this.#find(schema["$ref"]), level + 1);
    if (Array.isArray(schema["enum"])) return schema["enum"].length > CHOICES_MAX ? words.any : oneOf(schema["enum"].map(constant));
    if ("const" in schema) return constant(schema["const"]);
    const choices = schema["anyOf"] ?? schema["oneOf"];
    if (Array.isArray(choices)) return this.#choice(choices, level);
    const types: readonly unknown[] = Array.isArray(schema["type"]) ? schema["type"] : [schema["type"]];
    return oneOf([...new Set(types.slice(0, CHOICES_MAX).map((type) => this.#typed(type, schema, level)))]);
  }

  #choice(choices: readonly unknown[], level: number): string {
    if (choices.length > CHOICES_MAX) return this.#dialect.words.any;
    return this.#dialect.oneOf([...new Set(choices.map((choice) => this.write(choice, level + 1)))]);
  }

  #typed(type: unknown, schema: Fields, level: number): string {
    const { words, list } = this.#dialect;
    if (type === "array") return list(this.write(schema["items"], level + 1));
    if (type === "object" || (type === undefined && "properties" in schema)) return this.#object(schema, level);
    const isWord = typeof type === "string" && type !== "any" && Object.hasOwn(words, type);
    return isWord ? words[type as keyof Dialect["words"]] : words.any;
  }

  #object(schema: Fields, level: number): string {
    const { fields, field, map } = this.#dialect;
    const { properties, required } = this.objectOf(schema);
    if (properties.length === 0) return map(this.write(schema["additionalProperties"], level + 1));
    return fields(properties.map(([name, property]) => field(name, this.write(property, level + 1), required.has(name))));
  }

  objectOf(schema: Fields): ObjectPart {
    const known = this.#objects.get(schema);
    if (known) return known;
    const { properties, required } = schema;
    const given = isFields(properties) ? properties : {};
    const names = Object.keys(given);
    this.#work.left -= names.length;
    const shown = names.slice(0, FIELDS_MAX).filter((name) => name.length <= NAME_MAX);
    const part: ObjectPart = {
      properties: shown.map((name) => [name, given[name]]),
      required: new Set(Array.isArray(required) ? required.slice(0, REQUIRED_MAX) : []),
    };
    this.#objects.set(schema, part);
    return part;
  }

  /** Only what lies in the schema itself. */
  #find(reference: string): unknown {
    if (!reference.startsWith("#/") || reference.length > REFERENCE_MAX) return undefined;
    let found: unknown = this.#root;
    for (const key of reference.slice(2).split("/").slice(0, LEVELS_MAX)) {
      const name = key.replaceAll("~1", "/").replaceAll("~0", "~");
      found = isFields(found) && Object.hasOwn(found, name) ? found[name] : undefined;
    }
    return found;
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
