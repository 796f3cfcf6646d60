import { BelljarError } from "../errors.ts";
import { type FrontMatter, type ParsedFrontMatter, parseFrontMatter, type ShellRefusal } from "./shell-front-matter.ts";
import { problemOfName, toVariables, variableOf } from "./shell-variables.ts";
import type { ReadSchema, ReadTool } from "./unit.ts";

/** It is one argument of bash: the kernel's MAX_ARG_STRLEN, without its end. */
const MAX_CODE_BYTES = 128 * 1024 - 1;
const SHELLS = /^#!\s*\S*\/(?:env +)?(?:ba)?sh(?:\s|$)/;
const FUNCTION = "main";
const ERROR_CHARACTERS = 4 * 1024;

export type ReadShellTool = ShellRefusal | { readonly kind: "read"; readonly tools: readonly [ReadTool] };

/** What the host runs in the sandbox. */
export interface ShellCall {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** All arguments as JSON. */
  readonly stdin: string;
}

export interface ShellRun {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** As the lines `result` and `error` of the harnesses. */
export type ShellResult =
  | {
      readonly type: "result";
      readonly content: readonly { readonly type: "text"; readonly text: string }[];
      readonly structured?: Readonly<Record<string, unknown>>;
    }
  | { readonly type: "error"; readonly name: string; readonly message: string; readonly traceback: string };

/** The one tool of a shell unit, by its front matter. The host reads it: it is data, and nothing of the script runs. */
export function readShellTool(code: string, unitName: string): ReadShellTool {
  const problem = problemOfCode(code);
  if (problem) return problem;
  const head = parseFrontMatter(code);
  if (head.kind === "refused") return head;
  return problemOfSchemas(head) ?? { kind: "read", tools: [toTool(head.value, unitName)] };
}

/**
 * How the script is called: its text is an argument of bash, and the caller's values are only in variables and on stdin, so that bash never
 * reads a value as code. Only parameters that the front matter names become variables (`toVariables`). Parameters that are absent have
 * their defaults. Throws `ARGUMENTS_INVALID` for a string with a NUL character, which no variable can hold.
 */
export function shellCall(tool: ReadTool, code: string, args: Readonly<Record<string, unknown>>): ShellCall {
  const properties = propertiesOf(tool.inputSchema);
  const given = { ...defaultsOf(properties), ...args };
  const withNul = Object.keys(given).find((name) => typeof given[name] === "string" && given[name].includes("\0"));
  if (withNul !== undefined)
    throw new BelljarError("ARGUMENTS_INVALID", `The argument ${withNul} has a NUL character; a shell cannot hold it`);
  return {
    argv: ["bash", "--noprofile", "--norc", "-c", code, tool.name],
    env: toVariables(given, Object.keys(properties)),
    stdin: JSON.stringify(given),
  };
}

/** What a run gave: its standard output, or for an exit that is not 0 the end of its standard error. */
export function shellResult(tool: ReadTool, { exitCode, stdout, stderr }: ShellRun): ShellResult {
  if (exitCode !== 0) return toError(exitCode, stderr);
  const text = stdout.endsWith("\n") ? stdout.slice(0, -1) : stdout;
  const content = text === "" ? [] : [{ type: "text", text } as const];
  if (!tool.outputSchema) return { type: "result", content };
  const structured = parseObject(stdout);
  if (structured) return { type: "result", content, structured };
  const message = "The tool has an output schema, so that its standard output must be a JSON object";
  return { type: "error", name: "ResultError", message, traceback: `ResultError: ${message}` };
}

function problemOfCode(code: string): ShellRefusal | undefined {
  const [first = ""] = code.split("\n", 1);
  if (code.includes("\0")) return refuse(code.slice(0, code.indexOf("\0")).split("\n").length, "The script has a NUL character");
  if (Buffer.byteLength(code) > MAX_CODE_BYTES) return refuse(null, `The script has more than ${MAX_CODE_BYTES} bytes`);
  if (first.startsWith("#!") && !SHELLS.test(first)) return refuse(1, "A shell tool is run by bash; its first line names another program");
  return undefined;
}

function problemOfSchemas({ value, lineOf }: Extract<ParsedFrontMatter, { readonly kind: "parsed" }>): ShellRefusal | undefined {
  if (value.input && value.parameters)
    return refuse(lineOf(["parameters"]), "The front matter has input and parameters; it takes one of them");
  for (const field of ["input", "output"] as const)
    if (value[field] && value[field]["type"] !== "object")
      return refuse(lineOf([field]), `The ${field} must be a schema of "type": "object"`);
  return problemOfNames(value, lineOf);
}

function problemOfNames(value: FrontMatter, lineOf: (path: readonly string[]) => number): ShellRefusal | undefined {
  const taken = new Map<string, string>();
  for (const name of Object.keys(value.parameters ?? propertiesOf(value.input ?? {}))) {
    const other = taken.get(variableOf(name));
    const problem = other === undefined ? problemOfName(name) : `The parameters ${other} and ${name} would be one variable`;
    if (problem) return refuse(lineOf(value.parameters ? ["parameters", name] : ["input", "properties", name]), problem);
    taken.set(variableOf(name), name);
  }
  return undefined;
}

function toTool({ name, title, description, annotations, output, ...value }: FrontMatter, unitName: string): ReadTool {
  return {
    name: name ?? unitName,
    function: FUNCTION,
    ...(title === undefined ? {} : { title }),
    description: description ?? "",
    inputSchema: value.input ?? toInputSchema(value.parameters ?? {}),
    ...(output ? { outputSchema: output } : {}),
    ...(annotations ? { annotations } : {}),
  };
}

/** A parameter is required, unless it has a default or is optional. */
function toInputSchema(parameters: NonNullable<FrontMatter["parameters"]>): ReadSchema {
  const properties: Record<string, unknown> = {};
  const required: string[] = [];
  for (const [name, { optional, ...schema }] of Object.entries(parameters)) {
    properties[name] = schema;
    if (!optional && !("default" in schema)) required.push(name);
  }
  return { type: "object", properties, required, additionalProperties: false };
}

function propertiesOf(schema: ReadSchema): Readonly<Record<string, unknown>> {
  const properties = schema["properties"];
  return typeof properties === "object" && properties !== null ? { ...properties } : {};
}

function defaultsOf(properties: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(properties).flatMap(([name, schema]) =>
      typeof schema === "object" && schema !== null && "default" in schema ? [[name, schema.default] as const] : [],
    ),
  );
}

function toError(exitCode: number, stderr: string): ShellResult {
  const end = stderr.trimEnd().slice(-ERROR_CHARACTERS);
  const last = end.slice(end.lastIndexOf("\n") + 1);
  const message = `The script ended with exit code ${exitCode}${last === "" ? "" : `: ${last}`}`;
  return { type: "error", name: "ExitError", message, traceback: end === "" ? message : end };
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function refuse(line: number | null, message: string): ShellRefusal {
  return { kind: "refused", line, message };
}
