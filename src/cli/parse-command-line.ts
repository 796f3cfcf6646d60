import { parseArgs } from "node:util";
import { COMMANDS, GLOBAL_OPTIONS } from "./command-table.ts";
import type { CommandCall, CommandSpec } from "./command.ts";
import { commandHelp, groupHelp, invocation, mainHelp } from "./help.ts";
import { usage } from "./usage.ts";

/** The request of a command line: a help text to show, or a command to run. */
export type Request = { readonly kind: "help"; readonly text: string } | { readonly kind: "command"; readonly call: CommandCall };

/** Throws `USAGE`, which names the fault and the help. */
export function parseCommandLine(argv: readonly string[]): Request {
  const [first, second] = argv;
  if (first === undefined) throw usage("No command given", "belljar --help");
  if (first === "--help" || first === "-h" || first === "help") return { kind: "help", text: mainHelp() };
  if (first === "--version") return parseCommandLine(["version", ...argv.slice(1)]);
  const verbs = COMMANDS.filter((spec) => spec.name.startsWith(`${first} `));
  if (verbs.length === 0) return parseCommand(findCommand(first), argv.slice(1));
  if (second === "--help" || second === "-h") return { kind: "help", text: groupHelp(first) };
  if (second === undefined) throw usage(`"${first}" needs one of: ${verbNames(verbs)}`, `belljar ${first} --help`);
  return parseCommand(findCommand(`${first} ${second}`, verbs), argv.slice(2));
}

function findCommand(name: string, among: readonly CommandSpec[] = COMMANDS): CommandSpec {
  const spec = among.find((one) => one.name === name);
  if (spec) return spec;
  if (among === COMMANDS) throw usage(`Unknown command "${name}"`, "belljar --help");
  throw usage(`Unknown command "${name}"; expected one of: ${verbNames(among)}`, `belljar ${name.split(" ")[0]} --help`);
}

function verbNames(specs: readonly CommandSpec[]): string {
  return specs.map((spec) => spec.name.split(" ")[1]).join(", ");
}

function parseCommand(spec: CommandSpec, argv: readonly string[]): Request {
  const end = argv.indexOf("--");
  const before = end < 0 ? argv : argv.slice(0, end);
  const rest = end < 0 ? [] : argv.slice(end + 1);
  const { values, positionals } = parseOptions(spec, before);
  if (values["help"] === true) return { kind: "help", text: commandHelp(spec) };
  checkPositionals(spec, positionals, end >= 0);
  return { kind: "command", call: { spec, positionals, rest, options: values } };
}

function parseOptions(spec: CommandSpec, argv: readonly string[]) {
  const all: CommandSpec["options"] = { ...GLOBAL_OPTIONS, ...spec.options };
  const options = Object.fromEntries(
    Object.entries(all).map(([name, { type, short, multiple }]) => [
      name,
      { type, ...(short && { short }), ...(multiple && { multiple }) },
    ]),
  );
  try {
    const { values, positionals } = parseArgs({ args: [...argv], options, strict: true, allowPositionals: true });
    return { values: values as CommandCall["options"], positionals };
  } catch (cause) {
    throw usage(parseProblem(cause), `belljar ${spec.name} --help`, cause);
  }
}

/** Returns the first sentence of Node's message. The rest is about Node's API. */
function parseProblem(cause: unknown): string {
  return cause instanceof Error ? (cause.message.split(/\.\s/, 1)[0] ?? "Bad options") : "Bad options";
}

function checkPositionals(spec: CommandSpec, positionals: readonly string[], hasRest: boolean): void {
  const { min, max } = spec.positionals;
  const help = `belljar ${spec.name} --help`;
  const form = `belljar ${invocation(spec)}`;
  if (positionals.length < min) throw usage(`Something is missing: ${form}`, help);
  if (positionals.length > max) throw usage(`Too much is given ("${positionals[max]}"): ${form}`, help);
  if (hasRest && !spec.rest) throw usage(`"${spec.name}" takes nothing after --`, help);
}
