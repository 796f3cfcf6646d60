import * as z from "zod";
import { createConfigSchema } from "./config-schema.ts";

/** One setting as the docs, `--help` and the environment see it. Plain JSON. */
export interface ConfigKey {
  /** Where it stands in the file: `["program", "pids"]`. */
  readonly path: readonly string[];
  /** Its variables, the first that is set wins. */
  readonly env: readonly string[];
  readonly type: string;
  /** As JSON; absent: not set. */
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

/** Stand for facts of the host, so that the generated docs are the same everywhere. */
const ANY_HOST = { home: "/~/.belljar", runtimeDirectory: "/run/belljar", cpus: 2 };
const SHOWN_DEFAULTS: Readonly<Record<string, string>> = {
  home: "~/.belljar",
  runtimeDirectory: "/run/belljar as root, else $XDG_RUNTIME_DIR/belljar, else /tmp/belljar-<uid>",
  "sandbox.cpus": "2, or the host's count when it has fewer",
};
const MORE_VARIABLES: Readonly<Record<string, readonly string[]>> = { workspace: ["WORKSPACE_DIR"] };

/** Every setting in the schema's order, with its environment variables. */
export function configKeys(): readonly ConfigKey[] {
  return KEYS;
}

/** Everything that the reference page and `--help` say about the configuration. */
export function describeConfig(): readonly ConfigKey[] {
  return KEYS.map((key) => ({ ...key, default: SHOWN_DEFAULTS[key.path.join(".")] ?? key.default }));
}

const KEYS: readonly ConfigKey[] = describeProperties(toProperty(), []);

function toProperty(): Property {
  return z.toJSONSchema(createConfigSchema(ANY_HOST), { io: "output", unrepresentable: "any" }) as Property;
}

function describeProperties(property: Property, above: readonly string[]): readonly ConfigKey[] {
  return Object.entries(property.properties ?? {}).flatMap(([name, inner]) => {
    const path = [...above, name];
    return inner.properties ? describeProperties(inner, path) : [describeKey(path, inner)];
  });
}

function describeKey(path: readonly string[], property: Property): ConfigKey {
  return {
    path,
    env: [toVariable(path), ...(MORE_VARIABLES[path.join(".")] ?? [])],
    type: toType(property),
    default: property.default,
    description: property.description ?? "",
  };
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
