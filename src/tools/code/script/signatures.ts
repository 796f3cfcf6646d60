import type { CodeTool } from "../../../catalog/tool.ts";
import type { ScriptTool } from "../../../dynamic/harness/ask-harness.ts";
import { type Dialect, schemaFields, type SchemaField, schemaType, type Work } from "./schema-type.ts";

const CONSTANT_MAX = 100;
const TYPE_MAX = 2_000;
const DESCRIPTION_MAX = 300;
const FIELD_DESCRIPTION_MAX = 120;

/** Cut first: a constant may be as long as the schema. Undefined for lists and objects, which are none of a type. */
const constant = (value: unknown): string | undefined => {
  if (typeof value === "string") return JSON.stringify(value.slice(0, CONSTANT_MAX)).slice(0, CONSTANT_MAX);
  return typeof value === "object" && value !== null ? undefined : String(value);
};
const key = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name));

const TYPESCRIPT: Dialect = {
  words: { string: "string", number: "number", integer: "number", boolean: "boolean", null: "null", any: "unknown" },
  list: (item) => `Array<${item}>`,
  map: (value) => `Record<string, ${value}>`,
  oneOf: (types) => types.join(" | ") || "unknown",
  constant: (value) => constant(value) ?? "unknown",
  field: (name, type, isRequired) => `${key(name)}${isRequired ? "" : "?"}: ${type}`,
  fields: (fields) => `{ ${fields.join("; ")} }`,
};

const PYTHON: Dialect = {
  words: { string: "str", number: "float", integer: "int", boolean: "bool", null: "None", any: "Any" },
  list: (item) => `list[${item}]`,
  map: (value) => `dict[str, ${value}]`,
  oneOf: (types) => types.join(" | ") || "Any",
  constant: pythonConstant,
  field: (name, type, isRequired) => `${JSON.stringify(name)}${isRequired ? "" : "?"}: ${type}`,
  fields: (fields) => `{${fields.join(", ")}}`,
};

function pythonConstant(value: unknown): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  const text = constant(value);
  return text === undefined ? "Any" : `Literal[${text}]`;
}

export type SignatureLanguage = "javascript" | "typescript" | "python";

export interface SignatureOptions {
  readonly language: SignatureLanguage;
  readonly work: Work;
}

/** How a script calls the tool, with what it does: as a declaration that a model reads. No text of the tool ends its comment. */
export function signature(tool: CodeTool, [name, path = name]: ScriptTool, { language, work }: SignatureOptions): string {
  const isPython = language === "python";
  const dialect = isPython ? PYTHON : TYPESCRIPT;
  const fields = schemaFields(tool.input.schema, dialect, work);
  const answer = tool.output ?? tool.value;
  const result = answer ? cut(schemaType(answer.schema, dialect, work), dialect) : isPython ? "str" : "string";
  const notes = [oneLine(tool.description, DESCRIPTION_MAX), ...fields.flatMap(describeField)];
  const comment = isPython ? notes.map((note) => `# ${note}`) : notes.map((note) => `// ${note}`);
  if (isPython) return [...comment, pythonCall(path, fields, result)].join("\n");
  const optional = fields.some(({ isRequired }) => isRequired) ? "" : "?";
  const input = cut(schemaType(tool.input.schema, TYPESCRIPT, work), TYPESCRIPT);
  return [...comment, `tools.${path}(args${optional}: ${input}): Promise<${result}>`].join("\n");
}

function pythonCall(path: string, fields: readonly SchemaField[], result: string): string {
  const names = fields.filter(({ name }) => /^[A-Za-z_]\w*$/.test(name));
  const sorted = [...names.filter(({ isRequired }) => isRequired), ...names.filter(({ isRequired }) => !isRequired)];
  const parameters = sorted.map(({ name, type, isRequired }) => `${name}: ${cut(type, PYTHON)}${isRequired ? "" : " = ..."}`);
  return `tools.${path}(${parameters.length > 0 ? "*, " : ""}${parameters.join(", ")}) -> ${result}`;
}

function describeField({ name, description }: SchemaField): readonly string[] {
  return description === undefined ? [] : [`  ${oneLine(name, FIELD_DESCRIPTION_MAX)}: ${oneLine(description, FIELD_DESCRIPTION_MAX)}`];
}

function cut(type: string, { words }: Dialect): string {
  return type.length > TYPE_MAX ? words.any : type;
}

/** Without line ends and other controls. */
function oneLine(text: string, most: number): string {
  const plain = text
    .slice(0, 4 * most)
    .replaceAll(/[\p{C}\s\u2028\u2029]+/gu, " ")
    .trim();
  return plain.length > most ? `${plain.slice(0, most - 3)}...` : plain;
}
