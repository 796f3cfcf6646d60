import { COMMANDS, GLOBAL_OPTIONS } from "./command-table.ts";
import type { CommandSpec, OptionSpec } from "./command.ts";

export const ENVIRONMENT = [
  ["BELLJAR_HOME", "Folder with all state (default ~/.belljar)"],
  ["BELLJAR_URL", "Work on that server, not on the home"],
] as const;

/** `belljar --help`. */
export function mainHelp(commands: readonly CommandSpec[] = COMMANDS): string {
  const rows = commands.map((spec) => [invocation(spec), spec.summary] as const);
  return sections([
    "Usage: belljar COMMAND [OPTIONS]",
    `Commands:\n${columns(rows)}`,
    `Options of every command:\n${optionRows(GLOBAL_OPTIONS)}`,
    `Environment (all settings: docs/reference/config.md):\n${columns(ENVIRONMENT)}`,
    "`belljar COMMAND --help` shows a command's own options. `sandbox` can be left out: `belljar list` is `belljar sandbox list`.\n" +
      "Options may stand before or after the command.",
  ]);
}

/** `belljar sandbox --help`: the verbs of a noun. */
export function groupHelp(noun: string): string {
  return mainHelp(COMMANDS.filter((spec) => spec.name.startsWith(`${noun} `)));
}

/** `belljar COMMAND --help`. */
export function commandHelp(spec: CommandSpec): string {
  const own = Object.keys(spec.options).length > 0 ? [`Options:\n${optionRows(spec.options)}`] : [];
  return sections([
    `Usage: belljar ${invocation(spec)}${Object.keys(spec.options).length > 0 ? " [OPTIONS]" : ""}`,
    `${spec.summary}.${spec.details ? ` ${spec.details}` : ""}`,
    ...(spec.synonyms ? [`Other names: ${spec.synonyms.join(", ")}`] : []),
    ...own,
    `Options of every command:\n${optionRows(globalOptionsOf(spec))}`,
  ]);
}

/** A command may have another meaning for the name of one of them. */
function globalOptionsOf({ options }: CommandSpec): Readonly<Record<string, OptionSpec>> {
  return Object.fromEntries(Object.entries(GLOBAL_OPTIONS).filter(([name]) => !Object.hasOwn(options, name)));
}

export function invocation(spec: CommandSpec): string {
  return spec.usage === "" ? spec.name : `${spec.name} ${spec.usage}`;
}

function sections(parts: readonly string[]): string {
  return `${parts.join("\n\n")}\n`;
}

function optionRows(options: Readonly<Record<string, OptionSpec>>): string {
  return columns(Object.entries(options).map(([name, option]) => [optionName(name, option), option.description] as const));
}

function optionName(name: string, option: OptionSpec): string {
  const short = option.short ? `-${option.short}, ` : "    ";
  return `${short}--${name}${valueForm(option)}`;
}

/** As it is written behind the option's name. */
export function valueForm({ value, bare }: Pick<OptionSpec, "value" | "bare">): string {
  if (value === undefined) return "";
  return bare === undefined ? ` ${value}` : `[=${value}]`;
}

function columns(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join("\n");
}
