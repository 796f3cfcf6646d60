import { BelljarError } from "../../errors.ts";
import { isRecord } from "../../mcp/client/config/is-record.ts";
import type { JsonObject } from "../../mcp/client/json-object.ts";
import { toToolArguments } from "../arguments-by-schema.ts";
import { type Fields, formOf } from "../schema-form.ts";

const FIELDS_MAX = 50;
const ABOUT_MAX = 500;
const KEY_MAX = 100;
const CHOICES_MAX = 50;

interface Asking {
  /** Undefined once the input has ended. */
  readonly ask: (prompt: string) => Promise<string | undefined>;
  readonly say: (text: string) => void;
}

/**
 * Asks for each field of a form that a server sent, until its schema takes the answer. An empty line is the field's default, or leaves out
 * one that may be left out. Undefined once the input has ended.
 */
export async function askForm(requested: unknown, asking: Asking): Promise<JsonObject | undefined> {
  const schema: Fields = isRecord(requested) ? requested : {};
  const properties: Fields = isRecord(schema["properties"]) ? schema["properties"] : {};
  const required: readonly unknown[] = Array.isArray(schema["required"]) ? schema["required"] : [];
  const content: Record<string, unknown> = {};
  for (const key of Object.keys(properties).slice(0, FIELDS_MAX)) {
    const answer = await askField(schema, { key, field: properties[key], isRequired: required.includes(key) }, asking);
    if (answer === undefined) return undefined;
    if (answer.value !== undefined) Object.defineProperty(content, key, { value: answer.value, enumerable: true });
  }
  return content;
}

interface FormField {
  readonly key: string;
  readonly field: unknown;
  readonly isRequired: boolean;
}

async function askField(
  schema: Fields,
  { key, field, isRequired }: FormField,
  { ask, say }: Asking,
): Promise<{ readonly value: unknown } | undefined> {
  const facts: Fields = isRecord(field) ? field : {};
  const fallback = facts["default"];
  say(describe(key, facts, schema));
  for (;;) {
    const line = await ask(
      `${key.slice(0, KEY_MAX)}${fallback === undefined ? (isRequired ? "" : " (may be empty)") : ` (${shown(fallback)})`}: `,
    );
    if (line === undefined) return undefined;
    if (line === "" && (fallback !== undefined || !isRequired)) return { value: fallback };
    try {
      return { value: readLine(schema, key, line) };
    } catch (cause) {
      if (!(cause instanceof BelljarError)) throw cause;
      say(cause.message);
    }
  }
}

/** Several values of a list stand in one line, with commas. */
function readLine(schema: Fields, key: string, line: string): unknown {
  const { items } = fieldForm(schema, key);
  const texts = items && !line.startsWith("[") ? line.split(",").map((text) => text.trim()) : [line];
  return toToolArguments(
    { type: "object", properties: { field: propertyOf(schema, key) } },
    texts.map((text) => `field=${text}`),
  )["field"];
}

function fieldForm(schema: Fields, key: string): ReturnType<typeof formOf> {
  return formOf(propertyOf(schema, key), schema);
}

function propertyOf({ properties }: Fields, key: string): unknown {
  return isRecord(properties) && Object.hasOwn(properties, key) ? properties[key] : {};
}

function describe(key: string, { title, description }: Fields, schema: Fields): string {
  const { values, items } = fieldForm(schema, key);
  const choices = values ?? items?.().values;
  const about = [title, description].filter((text) => typeof text === "string" && text !== "").join(": ");
  const named = choices ? [`one of ${choices.slice(0, CHOICES_MAX).map(shown).join(", ")}`] : [];
  return [(about === "" ? key : about).slice(0, ABOUT_MAX), ...named].join("; ");
}

function shown(value: unknown): string {
  return (typeof value === "string" ? value : JSON.stringify(value)).slice(0, ABOUT_MAX);
}
