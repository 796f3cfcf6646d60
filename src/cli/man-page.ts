import { COMMANDS, GLOBAL_OPTIONS } from "./command-table.ts";
import type { CommandSpec, OptionSpec } from "./command.ts";
import { ENVIRONMENT, invocation } from "./help.ts";

/** `belljar(1)`, made from the command table. */
export function manPage(version: string): string {
  const parts = [
    `.TH BELLJAR 1 "" "belljar ${roff(version)}" "User Commands"`,
    `.SH NAME\nbelljar \\- a computer for AI agents: sandboxes, and tools over MCP`,
    `.SH SYNOPSIS\n.B belljar\n.I COMMAND\n[\\fIOPTIONS\\fR]`,
    `.SH DESCRIPTION\n${roff("Options may stand before or after the command. The noun sandbox can be left out: `belljar list` is `belljar sandbox list`. A name, or the beginning of an id, stands for the id of a sandbox.")}`,
    `.SH COMMANDS\n${COMMANDS.map(command).join("\n")}`,
    `.SH OPTIONS OF EVERY COMMAND\n${options(GLOBAL_OPTIONS)}`,
    `.SH ENVIRONMENT\n${ENVIRONMENT.map(([name, about]) => item(`\\fB${roff(name)}\\fR`, about)).join("\n")}`,
    `.SH EXIT STATUS\n${roff("0: done. 1: failed. 2: wrong usage. run, exec and shell give the command's own code, and 125 when Belljar failed.")}`,
  ];
  return `${parts.join("\n")}\n`;
}

function command(spec: CommandSpec): string {
  const others = spec.synonyms ? [`Other names: ${spec.synonyms.join(", ")}`] : [];
  const texts = [`${spec.summary}.`, ...(spec.details?.split("\n") ?? []), ...others];
  return `.SS belljar ${roff(invocation(spec))}\n${texts.map(roff).join("\n.br\n")}\n${options(spec.options)}`;
}

function options(all: Readonly<Record<string, OptionSpec>>): string {
  return Object.entries(all)
    .map(([name, { short, value, bare, description }]) => {
      const names = [...(short === undefined ? [] : [`\\fB${roff(`-${short}`)}\\fR, `]), `\\fB${roff(`--${name}`)}\\fR`];
      return item(
        `${names.join("")}${value === undefined ? "" : bare === undefined ? ` \\fI${roff(value)}\\fR` : `[=\\fI${roff(value)}\\fR]`}`,
        description,
      );
    })
    .join("\n");
}

function item(label: string, text: string): string {
  return `.TP\n${label}\n${roff(text)}`;
}

/** A dash is one that can be copied, and no line begins a request. */
function roff(text: string): string {
  return text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replaceAll(/^(?=[.'])/gm, "\\&");
}
