import { parseArgs } from "node:util";
import { GLOBAL_OPTIONS } from "./command-table.ts";
import type { CommandCall, CommandSpec, OptionSpec } from "./command.ts";
import { complete } from "./complete.ts";
import { findCommand, findWords, isOption, takesNext, verbsOf } from "./find-command.ts";
import { commandHelp, groupHelp, invocation, mainHelp } from "./help.ts";
import { didYouMean } from "../files/suggest.ts";
import { usage } from "./usage.ts";

/** The request of a command line: a help text to show, or a command to run. */
export type Request = { readonly kind: "help"; readonly text: string } | { readonly kind: "command"; readonly call: CommandCall };

/** Throws `USAGE`, which names the fault and the help. */
export function parseCommandLine(argv: readonly string[]): Request {
  const { words, others } = findWords(argv);
  const [first, second] = words;
  if (first === "help") return helpFor(others.filter((text) => !isOption(text)));
  if (first === undefined) {
    if (others.length === 0 || asksForHelp(others)) return helpFor([]);
    if (others.includes("--version")) return parseCommandLine(["version", ...others.filter((text) => text !== "--version")]);
    throw usage(`No command given beside "${others[0]}"`, "belljar --help");
  }
  if (second === undefined && asksForHelp(others)) return helpFor(words);
  return parseCommand(findCommand(words), others);
}

function asksForHelp(argv: readonly string[]): boolean {
  const end = argv.indexOf("--");
  return argv.slice(0, end < 0 ? argv.length : end).some((text) => text === "--help" || text === "-h");
}

/** `belljar help`, `belljar help sandbox`, `belljar help sandbox kill`. */
function helpFor(words: readonly string[]): Request {
  const [first, second] = words;
  if (first === undefined) return { kind: "help", text: mainHelp() };
  if (second === undefined && verbsOf(first).length > 0) return { kind: "help", text: groupHelp(first) };
  return { kind: "help", text: commandHelp(findCommand(words)) };
}

function parseCommand(spec: CommandSpec, argv: readonly string[]): Request {
  const options = { ...GLOBAL_OPTIONS, ...spec.options };
  const { before, rest } = splitRest(spec, argv, options);
  const { values, positionals } = parseOptions(spec, before, options);
  if (values["help"] === true) return { kind: "help", text: commandHelp(spec) };
  checkPositionals(spec, positionals, rest !== undefined);
  const lines = spec.takesLines ? { parse: parseLine } : {};
  const completion = spec.completes ? { completion: complete(rest ?? []) } : {};
  return { kind: "command", call: { spec, positionals, rest: rest ?? [], options: values, ...completion, ...lines } };
}

function parseLine(argv: readonly string[]): CommandCall | undefined {
  const request = parseCommandLine(argv);
  return request.kind === "command" ? request.call : undefined;
}

/**
 * Splits off a command's own arguments, which are taken as they are. They begin after `--`, or with the first argument that is none of
 * Belljar's: `exec ID ls -la`.
 */
function splitRest(spec: CommandSpec, argv: readonly string[], options: Readonly<Record<string, OptionSpec>>) {
  let positionals = 0;
  for (let index = 0; index < argv.length; index++) {
    const text = argv[index] ?? "";
    if (text === "--") return { before: argv.slice(0, index), rest: argv.slice(index + 1) };
    if (isOption(text)) index += takesNext(text, options) ? 1 : 0;
    else if (++positionals > spec.positionals.max && spec.rest) return { before: argv.slice(0, index), rest: argv.slice(index) };
  }
  return { before: argv, rest: undefined };
}

function parseOptions(spec: CommandSpec, argv: readonly string[], all: Readonly<Record<string, OptionSpec>>) {
  const options = Object.fromEntries(
    Object.entries(all).map(([name, { type, short, multiple }]) => [
      name,
      { type, ...(short && { short }), ...(multiple && { multiple }) },
    ]),
  );
  try {
    const { values, positionals } = parseArgs({
      args: argv.map((text) => withBareValue(text, all)),
      options,
      strict: true,
      allowPositionals: true,
    });
    return { values: values as CommandCall["options"], positionals };
  } catch (cause) {
    throw usage(parseProblem(cause, Object.keys(all)), `belljar ${spec.name} --help`, cause);
  }
}

/** Node knows no option whose value may be left out. */
function withBareValue(text: string, options: Readonly<Record<string, OptionSpec>>): string {
  const bare = text.startsWith("--") ? options[text.slice(2)]?.bare : undefined;
  return bare === undefined ? text : `${text}=${bare}`;
}

/** Returns the first sentence of Node's message. The rest is about Node's API. */
function parseProblem(cause: unknown, names: readonly string[]): string {
  const problem = cause instanceof Error ? (cause.message.split(/\.\s/, 1)[0] ?? "") : "Bad options";
  const valueless = /^Option '([^']+)' argument is ambiguous/.exec(problem)?.[1];
  if (valueless !== undefined)
    return `${valueless} needs a value; one that begins with a dash is written ${valueless}${valueless.startsWith("--") ? "=" : ""}VALUE`;
  const unknown = /^Unknown option '--([^']+)'/.exec(problem)?.[1];
  return `${problem}${
    unknown === undefined
      ? ""
      : didYouMean(
          `--${unknown}`,
          names.map((name) => `--${name}`),
        )
  }`;
}

function checkPositionals(spec: CommandSpec, positionals: readonly string[], hasRest: boolean): void {
  const { min, max } = spec.positionals;
  const help = `belljar ${spec.name} --help`;
  const form = `belljar ${invocation(spec)}`;
  if (positionals.length < min) throw usage(`Something is missing: ${form}`, help);
  if (positionals.length > max) throw usage(`Too much is given ("${positionals[max]}"): ${form}`, help);
  if (hasRest && !spec.rest) throw usage(`"${spec.name}" takes nothing after --`, help);
}
