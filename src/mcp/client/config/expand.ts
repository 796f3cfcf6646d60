import { basename, sep } from "node:path";

/** What `${...}` may stand for. */
export interface ConfigScope {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly workspaceFolder: string;
  readonly userHome: string;
  /** Answers of a person, by the id of the input. */
  readonly inputs: ReadonlyMap<string, string>;
}

const VARIABLE = /\$\{([^${}]*)\}/g;
const INPUT = "input:";
/** What is behind `:-` stands for a variable that is unset or empty, as in a shell. */
const NAMED = /^(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s;

/** A variable that has no value, or that Belljar does not know. */
export class UnknownVariable extends Error {}

/**
 * Replaces `${NAME}`, `${NAME:-default}`, `${env:NAME}`, `${input:ID}`, `${workspaceFolder}`, `${workspaceFolderBasename}`, `${userHome}`,
 * `${pathSeparator}` and `${/}`. Values are not expanded again. Throws `UnknownVariable`, which holds no value.
 */
export function expand(text: string, scope: ConfigScope): string {
  return text.replaceAll(VARIABLE, (_match, name: string) => valueOf(name, scope));
}

/** The ids of the inputs that a text names. */
export function inputsIn(text: string): readonly string[] {
  return [...text.matchAll(VARIABLE)].flatMap(([, name = ""]) => (name.startsWith(INPUT) ? [name.slice(INPUT.length)] : []));
}

function valueOf(name: string, scope: ConfigScope): string {
  const known = placeOf(name, scope);
  if (known !== undefined) return known;
  if (name.startsWith(INPUT)) return inputOf(name.slice(INPUT.length), scope);
  const [, variable, fallback] = NAMED.exec(name) ?? [];
  if (variable === undefined) throw new UnknownVariable(`\${${name}} is not a variable that Belljar knows`);
  const value = Object.hasOwn(scope.env, variable) ? scope.env[variable] : undefined;
  if (fallback !== undefined) return value || fallback;
  if (value === undefined) throw new UnknownVariable(`the variable ${variable} is not set: set it, or write \${${variable}:-DEFAULT}`);
  return value;
}

function placeOf(name: string, { workspaceFolder, userHome }: ConfigScope): string | undefined {
  switch (name) {
    case "workspaceFolder":
      return workspaceFolder;
    case "workspaceFolderBasename":
      return basename(workspaceFolder);
    case "userHome":
      return userHome;
    case "pathSeparator":
    case "/":
      return sep;
    default:
      return undefined;
  }
}

function inputOf(id: string, { inputs }: ConfigScope): string {
  const value = inputs.get(id);
  if (value === undefined)
    throw new UnknownVariable(`the input "${id}" has no answer: the file must describe it under inputs, and a person must be asked`);
  return value;
}
