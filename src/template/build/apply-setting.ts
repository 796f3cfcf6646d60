import { posix } from "node:path";
import { variablesSchema } from "../../sandbox/wire/texts-schema.ts";
import { ARGUMENTS_MAX, isUser } from "../image-config.ts";
import { invalidLine, quoted } from "./dockerfile-error.ts";
import { createExpand } from "./expand.ts";
import type { ArgStep, EnvStep, Setting, Step } from "./instructions.ts";
import { own } from "./parse-dockerfile.ts";
import { type StageState, toArgv } from "./stage-state.ts";

/** The kernel's own limit, without the byte at the end. */
const PATH_MAX = 4_095;

export interface SettingParts {
  readonly escape: string;
  /** Of the whole file. */
  readonly args: ReadonlyMap<string, string>;
  readonly buildArgs: Readonly<Record<string, string>>;
}

/** Puts the stage's variables into the texts of a step. ENV goes before ARG. */
export function expandIn(state: StageState, { line }: Step, escape: string): (text: string) => string {
  return createExpand({ line, escape, find: (name) => own(state.env, name) ?? state.args.get(name) });
}

/** The stage after a step that changes no file. */
export function applySetting(state: StageState, step: Setting, parts: SettingParts): StageState {
  const expand = expandIn(state, step, parts.escape);
  switch (step.kind) {
    case "env":
      return { ...state, env: withPairs(state, step, expand) };
    case "arg":
      return { ...state, args: withArg(state, step, { ...parts, expand }) };
    case "user":
      return { ...state, user: toUser(expand(step.value), step.line) };
    case "shell":
      return { ...state, shell: step.argv };
    case "cmd":
      return { ...state, cmd: bounded(toArgv(step.command, state), step.line) };
    case "entrypoint":
      return { ...state, entrypoint: bounded(toArgv(step.command, state), step.line), cmd: undefined };
    case "ignored":
      return state;
  }
}

/** All values of a line are read before one of them holds. */
function withPairs({ env }: StageState, { pairs, line }: EnvStep, expand: (text: string) => string): StageState["env"] {
  return toVariables({ ...env, ...Object.fromEntries(pairs.map(([name, value]) => [name, expand(value)])) }, line);
}

function withArg(
  { args }: StageState,
  { name, value, line }: ArgStep,
  { args: global, buildArgs, expand }: SettingParts & { readonly expand: (text: string) => string },
): StageState["args"] {
  const found = own(buildArgs, name) ?? (value === undefined ? global.get(name) : expand(value));
  return found === undefined ? args : new Map(Object.entries(toVariables({ ...Object.fromEntries(args), [name]: found }, line)));
}

/** As many as a command may have: each RUN gets them, and each is part of what it depends on. */
function toVariables(texts: Readonly<Record<string, string>>, line: number): Readonly<Record<string, string>> {
  const parsed = variablesSchema.safeParse(texts);
  if (parsed.success) return parsed.data;
  throw invalidLine(line, `the variables may have ${parsed.error.issues[0]?.message ?? "no such entry"}`);
}

function toUser(user: string, line: number): string {
  if (isUser(user)) return user;
  throw invalidLine(line, `${quoted(user)} is no user: it is a name or number, and may go on with a colon and a group`);
}

function bounded(argv: readonly string[], line: number): readonly string[] {
  if (argv.length <= ARGUMENTS_MAX) return argv;
  throw invalidLine(line, `the command has more than ${ARGUMENTS_MAX} words`);
}

/** A folder that a step names, from the folder of the moment. */
export function toFolder(state: StageState, text: string, line: number): string {
  if (text === "" || text.includes("\0")) throw invalidLine(line, "it names an empty path: is a variable not set?");
  const path = posix.resolve("/", state.workdir ?? "", text);
  if (Buffer.byteLength(path) > PATH_MAX) throw invalidLine(line, `its path has more than ${PATH_MAX} bytes, which no file can have`);
  return text.endsWith("/") && path !== "/" ? `${path}/` : path;
}
