import * as z from "zod";
import { createConfigSchema } from "./config-schema.ts";
import { formatDuration } from "./duration.ts";
import { formatSize } from "./size.ts";

/** One setting as the docs, `--help` and the environment see it. Plain JSON. */
export interface ConfigKey {
  /** Path in the file, such as `["program", "pids"]`. */
  readonly path: readonly string[];
  /** Its environment variables. The first that is set wins. */
  readonly env: readonly string[];
  readonly type: string;
  /** As JSON. Absent if the setting has no default. */
  readonly default?: unknown;
  readonly description: string;
}

interface Property {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly anyOf?: readonly Property[];
  readonly properties?: Readonly<Record<string, Property>>;
  readonly default?: unknown;
  readonly description?: string;
}

/** Placeholders for facts of the host, so that the generated docs are the same everywhere. */
const ANY_HOST = { home: "/~/.belljar", runtimeDirectory: "/run/belljar", cpus: 2 };
const SHOWN_DEFAULTS: Readonly<Record<string, string>> = {
  home: "~/.belljar",
  runtimeDirectory: "/run/belljar as root, else $XDG_RUNTIME_DIR/belljar, else /tmp/belljar-<uid>",
  "sandbox.cpus": "2, or the host's count when it has fewer",
};
const MORE_VARIABLES: Readonly<Record<string, readonly string[]>> = {
  workspace: ["WORKSPACE_DIR"],
  "tools.indexUrl": ["PIP_INDEX_URL"],
  "tools.storeInFile": ["STORE_IN_FILE"],
  "tools.database.url": ["DATABASE_URL"],
  "tools.database.host": ["DB_HOST"],
  "tools.database.port": ["DB_PORT"],
  "tools.database.name": ["DB_NAME"],
  "tools.database.user": ["DB_USER"],
  "tools.database.password": ["DB_PASSWORD"],
};

/** Every setting in the schema's order, with its environment variables. Every command calls this at its start, so it must be fast. */
export function configKeys(schema: z.ZodType = createConfigSchema(ANY_HOST)): readonly Pick<ConfigKey, "path" | "env">[] {
  return keysBelow(schema, []);
}

function keysBelow(schema: unknown, path: readonly string[]): readonly Pick<ConfigKey, "path" | "env">[] {
  const shape = shapeOf(schema);
  if (!shape) return [{ path, env: [toVariable(path), ...(MORE_VARIABLES[path.join(".")] ?? [])] }];
  return Object.entries(shape).flatMap(([name, inner]) => keysBelow(inner, [...path, name]));
}

/** Returns the fields of an object, even if the object has a default. */
function shapeOf(schema: unknown): Readonly<Record<string, unknown>> | undefined {
  if (schema instanceof z.ZodPrefault) return shapeOf(schema.unwrap());
  return schema instanceof z.ZodObject ? schema.shape : undefined;
}

/** Everything that the reference page and `--help` say about the configuration. */
export function describeConfig(): readonly ConfigKey[] {
  const schema = createConfigSchema(ANY_HOST);
  const described = z.toJSONSchema(schema, { io: "output", unrepresentable: "any" }) as Property;
  return configKeys(schema).map((key) => describeKey(key, described));
}

function describeKey({ path, env }: Pick<ConfigKey, "path" | "env">, described: Property): ConfigKey {
  const property = path.reduce<Property | undefined>((above, name) => above?.properties?.[name], described) ?? {};
  const quantity = quantityOf(path);
  const shown = SHOWN_DEFAULTS[path.join(".")] ?? property.default;
  return {
    path,
    env,
    type: quantity ? toType(property).replace("integer", quantity.type) : toType(property),
    default: quantity && typeof shown === "number" ? quantity.format(shown) : shown,
    description: property.description ?? "",
  };
}

interface Quantity {
  readonly type: string;
  readonly format: (value: number) => string;
}

/** Settings with a unit say so in their names. */
function quantityOf(path: readonly string[]): Quantity | undefined {
  const name = path.at(-1) ?? "";
  if (name.endsWith("Ms")) return { type: "time", format: formatDuration };
  return /bytes/i.test(name) ? { type: "size", format: formatSize } : undefined;
}

function toVariable(path: readonly string[]): string {
  const words = path.map((key) => key.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase());
  return ["BELLJAR", ...words].join("_");
}

function toType(property: Property): string {
  if (property.enum) return property.enum.join(" | ");
  if (property.anyOf)
    return property.anyOf
      .map(toType)
      .map((type) => (type === "null" ? "none" : type))
      .join(" | ");
  return property.type ?? "text";
}
