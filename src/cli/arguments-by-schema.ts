import { BelljarError } from "../errors.ts";
import { parseJson } from "../files/parse-json.ts";
import { isRecord } from "../mcp/client/config/is-record.ts";
import { type FieldForm, type Fields, findField } from "./schema-form.ts";

const SHOWN_CHARACTERS = 60;
const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;

/** How a person is told of a type, and how a text becomes a value of it. `undefined`: it is none. */
const TYPES: ReadonlyMap<string, { readonly named: string; readonly read: (text: string) => unknown }> = new Map([
  ["integer", { named: "a whole number", read: (text: string) => only(Number.isSafeInteger, toNumber(text)) }],
  ["number", { named: "a number", read: (text: string) => only(Number.isFinite, toNumber(text)) }],
  ["boolean", { named: "true or false", read: (text: string) => (text === "true" ? true : text === "false" ? false : undefined) }],
  ["null", { named: "null", read: (text: string) => (text === "null" ? null : undefined) }],
  ["array", { named: "a list, as JSON or as the same name several times", read: (text: string) => only(Array.isArray, parseJson(text)) }],
  ["object", { named: "a JSON object", read: (text: string) => only(isRecord, parseJson(text)) }],
]);

/**
 * The arguments of a tool as a person types them: `key=value` words, or one word that is a JSON object. A value becomes what the JSON Schema
 * says of its key; a key that is named several times is a list. Where the schema takes a text and something else, what reads as the other
 * is the other. What is missing is the tool's to tell. Throws `USAGE`, which names the word.
 */
export function toToolArguments(schema: Fields, words: readonly string[]): Readonly<Record<string, unknown>> {
  const [first] = words;
  if (words.length === 1 && first?.trimStart().startsWith("{")) return readObject(first);
  const texts = new Map<string, string[]>();
  for (const word of words) {
    const at = word.indexOf("=");
    if (at < 1) throw bad(word, "is neither key=value nor one JSON object");
    const key = word.slice(0, at);
    texts.set(key, [...(texts.get(key) ?? []), word.slice(at + 1)]);
  }
  return Object.fromEntries([...texts].map(([key, values]) => [key, toValue(key, values, fieldNamed(schema, key))]));
}

function readObject(text: string): Readonly<Record<string, unknown>> {
  const value = parseJson(text);
  if (isRecord(value)) return value;
  throw bad(text, "is no JSON object");
}

function fieldNamed(schema: Fields, key: string): FieldForm {
  const found = findField(schema, key);
  if ("form" in found) return found.form;
  const { known, meant } = found;
  const takes = known.length > 0 ? `The tool takes ${known.join(", ")}` : "The tool takes no arguments";
  throw new BelljarError("USAGE", `There is no argument ${shown(key)}${meant || "."} ${takes}`);
}

function toValue(key: string, texts: readonly string[], form: FieldForm): unknown {
  const [text = ""] = texts;
  if (texts.length > 1) {
    if (!form.items) throw bad(`${key}=...`, "is there more than once, and takes one value");
    const { items } = form;
    return texts.map((one) => readText(key, one, items()));
  }
  return readText(key, text, form);
}

/** What else than a text is tried first: of a text everything is one. */
function readText(key: string, text: string, form: FieldForm): unknown {
  const named = form.values?.find((value) => (typeof value === "string" ? value : JSON.stringify(value)) === text);
  if (named !== undefined) return named;
  if (form.types === "any") return text === "null" ? null : (parseJson(text) ?? text);
  for (const type of form.types) {
    const value = TYPES.get(type)?.read(text);
    if (value !== undefined) return value;
  }
  if (form.types.has("string")) return form.types.size > 1 ? unquoted(text) : text;
  if (form.items) return [readText(key, text, form.items())];
  throw bad(`${key}=${text}`, `is not ${expected(form)}`);
}

/** How a person says that `"5"` is meant as a text where a number may stand too. */
function unquoted(text: string): string {
  const value = text.startsWith('"') ? parseJson(text) : undefined;
  return typeof value === "string" ? value : text;
}

function expected({ values = [], types }: FieldForm): string {
  const kinds = types === "any" ? [] : [...types].map((type) => TYPES.get(type)?.named ?? type);
  return [...values.map((value) => JSON.stringify(value)), ...kinds].join(" or ");
}

function toNumber(text: string): number {
  return NUMBER.test(text) ? Number(text) : Number.NaN;
}

function only<Value>(holds: (value: unknown) => boolean, value: Value): Value | undefined {
  return holds(value) ? value : undefined;
}

function bad(word: string, problem: string): BelljarError {
  return new BelljarError("USAGE", `${shown(word)} ${problem}`);
}

function shown(text: string): string {
  return JSON.stringify(text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}...` : text);
}
