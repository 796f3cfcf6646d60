import { invalidLine, quoted } from "./dockerfile-error.ts";
import type { LogicalLine } from "./read-lines.ts";
import { parseMount, type SecretMount } from "./secret-mount.ts";
import { parseArray, splitWords, takeFlags, WORDS_MAX } from "./words.ts";

/** What is run: words, or a text for the shell. */
export type CommandForm = { readonly argv: readonly string[] } | { readonly text: string };

interface Line {
  readonly line: number;
  /** The whole instruction, for people. */
  readonly text: string;
}

export interface RunStep extends Line {
  readonly kind: "run";
  readonly command: CommandForm;
  readonly mounts: readonly SecretMount[];
}

export interface CopyStep extends Line {
  readonly kind: "copy";
  readonly word: "COPY" | "ADD";
  readonly sources: readonly string[];
  readonly destination: string;
  readonly from?: string;
  readonly chown?: string;
  readonly chmod?: string;
}

export interface WorkdirStep extends Line {
  readonly kind: "workdir";
  readonly value: string;
  /** Whom the folder belongs to if the step makes it. Default: root. No Dockerfile says one. */
  readonly owner?: string;
}

export interface EnvStep extends Line {
  readonly kind: "env";
  readonly pairs: readonly (readonly [string, string])[];
}

export interface ArgStep extends Line {
  readonly kind: "arg";
  readonly name: string;
  readonly value?: string;
}

/** Steps that change no file. */
export type Setting =
  | EnvStep
  | ArgStep
  | (Line & { readonly kind: "cmd" | "entrypoint"; readonly command: CommandForm })
  | (Line & { readonly kind: "user"; readonly value: string })
  | (Line & { readonly kind: "shell"; readonly argv: readonly string[] })
  | (Line & { readonly kind: "ignored"; readonly why: string });

/** One line of a stage. Variables in it stand as the file has them. */
export type Step = RunStep | CopyStep | WorkdirStep | Setting;

export interface FromWish {
  readonly kind: "from";
  readonly line: number;
  readonly image: string;
  /** It names nothing else. No Dockerfile says so. */
  readonly only?: "template" | "image";
  readonly platform?: string;
  readonly name?: string;
}

export type Instruction = FromWish | Step;

type Parse = (line: LogicalLine, rest: string, escape: string) => Instruction;

const HEREDOC = /^\d*<<-?["']?[A-Za-z_]\w*["']?$/;
const STAGE = /^[a-z][a-z0-9_.-]{0,127}$/;
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const NO_LABELS = "templates have none";

const WORDS: Readonly<Record<string, Parse>> = {
  FROM: parseFrom,
  RUN: (line, rest, escape) => {
    const { rest: command, all } = takeFlags(rest, ["mount"], line.line);
    refuseHeredoc(line, command, escape);
    const mounts = all.map(([, text]) => parseMount(text, line.line));
    return { ...line, kind: "run", command: parseCommand(line, command), mounts };
  },
  CMD: (line, rest) => ({ ...line, kind: "cmd", command: parseCommand(line, rest) }),
  ENTRYPOINT: (line, rest) => ({ ...line, kind: "entrypoint", command: parseCommand(line, rest) }),
  COPY: parseCopy,
  ADD: parseCopy,
  ENV: (line, rest, escape) => ({ ...line, kind: "env", pairs: parsePairs(line, rest, escape) }),
  ARG: parseArg,
  WORKDIR: (line, value) => ({ ...line, kind: "workdir", value: needText(line, value, "a folder") }),
  USER: (line, value) => ({ ...line, kind: "user", value: needText(line, value, "a user") }),
  SHELL: parseShell,
  LABEL: ignore(NO_LABELS),
  MAINTAINER: ignore(NO_LABELS),
  EXPOSE: ignore("every port of a sandbox can be reached by `belljar forward` or a link"),
  VOLUME: ignore("the folder is part of the template"),
  STOPSIGNAL: ignore("a sandbox ends as a whole"),
  HEALTHCHECK: ignore("Belljar starts no program of a template by itself"),
};

/** Reads one instruction. Throws `DOCKERFILE_INVALID` with the number of its line. */
export function parseInstruction(line: LogicalLine, escape: string): Instruction {
  const end = line.text.search(/\s/);
  const word = (end < 0 ? line.text : line.text.slice(0, end)).toUpperCase();
  if (word === "ONBUILD")
    throw invalidLine(line.line, "ONBUILD is not supported: write its instruction into the files that begin with this template");
  const parse = Object.hasOwn(WORDS, word) ? WORDS[word] : undefined;
  if (!parse) throw invalidLine(line.line, `${quoted(word)} is no instruction`);
  return parse(line, end < 0 ? "" : line.text.slice(end).trim(), escape);
}

function parseFrom({ line }: LogicalLine, rest: string, escape: string): FromWish {
  const { flags, rest: text } = takeFlags(rest, ["platform"], line);
  const [image, as, name, ...more] = splitWords(text, escape);
  const isWhole = name === undefined ? as === undefined : as?.toUpperCase() === "AS" && more.length === 0;
  if (image === undefined || !isWhole) throw invalidLine(line, "FROM takes an image or a template, and may go on with AS and a name");
  const stage = name?.toLowerCase();
  if (stage !== undefined && !STAGE.test(stage)) throw invalidLine(line, `${quoted(stage)} is no name of a stage`);
  const platform = flags.get("platform");
  return { kind: "from", line, image, ...(platform !== undefined && { platform }), ...(stage !== undefined && { name: stage }) };
}

function parseCommand({ line }: LogicalLine, text: string): CommandForm {
  const argv = parseArray(text);
  if (argv?.length === 0 || text === "") throw invalidLine(line, "it names no command");
  return argv ? { argv } : { text };
}

function parseCopy(line: LogicalLine, rest: string, escape: string): Instruction {
  const word = line.text.slice(0, 3).toUpperCase() === "ADD" ? "ADD" : "COPY";
  const { flags, rest: text } = takeFlags(
    rest,
    word === "ADD" ? ["chown", "chmod", "link"] : ["from", "chown", "chmod", "link"],
    line.line,
  );
  refuseHeredoc(line, text, escape);
  const words = parseArray(text) ?? splitWords(text, escape);
  const [sources, destination] = [words.slice(0, -1), words.at(-1)];
  if (destination === undefined || sources.length === 0)
    throw invalidLine(line.line, `${word} takes at least one source, and then where to put it`);
  if (words.length > WORDS_MAX) throw invalidLine(line.line, `${word} takes ${WORDS_MAX} words at most: copy a folder, or use wildcards`);
  const [from, chown, chmod] = [flags.get("from"), flags.get("chown"), flags.get("chmod")];
  const given = { ...(from !== undefined && { from }), ...(chown !== undefined && { chown }), ...(chmod !== undefined && { chmod }) };
  return { ...line, kind: "copy", word, sources, destination, ...given };
}

/** `NAME=VALUE ...`, or the old form `NAME VALUE`. */
function parsePairs({ line }: LogicalLine, rest: string, escape: string): readonly (readonly [string, string])[] {
  const words = splitWords(rest, escape);
  const [first = ""] = words;
  if (!first.includes("=")) {
    const value = rest.slice(first.length).trim();
    if (value === "") throw invalidLine(line, "ENV takes NAME=VALUE");
    return [[needName(line, first), value]];
  }
  return words.map((word) => {
    const at = word.indexOf("=");
    if (at < 0) throw invalidLine(line, `${quoted(word)} is no NAME=VALUE: put a value with blanks into quotes`);
    return [needName(line, word.slice(0, at)), word.slice(at + 1)];
  });
}

function parseArg(line: LogicalLine, rest: string, escape: string): Instruction {
  const [word = "", ...more] = splitWords(rest, escape);
  if (more.length > 0) throw invalidLine(line.line, "ARG takes one NAME or NAME=VALUE: write a line for each");
  const at = word.indexOf("=");
  const name = needName(line.line, at < 0 ? word : word.slice(0, at));
  return { ...line, kind: "arg", name, ...(at >= 0 && { value: word.slice(at + 1) }) };
}

function parseShell(line: LogicalLine, rest: string): Instruction {
  const argv = parseArray(rest);
  if (!argv || argv.length === 0) throw invalidLine(line.line, 'SHELL takes a list, such as ["/bin/bash", "-c"]');
  return { ...line, kind: "shell", argv };
}

function ignore(why: string): Parse {
  return (line) => ({ ...line, kind: "ignored", why });
}

function refuseHeredoc({ line }: LogicalLine, text: string, escape: string): void {
  if (parseArray(text) || !text.includes("<<") || !splitWords(text, escape).some((word) => HEREDOC.test(word))) return;
  throw invalidLine(line, "text that follows (<<EOF) is not supported: put it into a file and COPY that, or use printf");
}

function needText({ line }: LogicalLine, value: string, what: string): string {
  if (value === "") throw invalidLine(line, `it names no ${what.replace(/^an? /, "")}`);
  return value;
}

function needName(line: number, name: string): string {
  if (NAME.test(name)) return name;
  throw invalidLine(line, `${quoted(name)} is no name of a variable`);
}
