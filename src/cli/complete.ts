import { GLOBAL_OPTIONS } from "./command-table.ts";
import type { Candidate, CommandSpec, Completion, OptionSpec } from "./command.ts";
import { everyFirstWord, findSpec, findWords, isOption, takesNext, verbsOf } from "./find-command.ts";

const NOTHING: Completion = { candidates: [] };
const FILES: Completion = { candidates: [], more: "files" };

/** Completes the last word of a command line, which may be empty. */
export function complete(argv: readonly string[]): Completion {
  const current = argv.at(-1) ?? "";
  const before = argv.slice(0, -1);
  if (before.includes("--")) return FILES;
  const { words, others } = findWords(before);
  if (words[0] === "help") return complete([...others, current]);
  const spec = findSpec(words);
  const last = before.at(-1) ?? "";
  const options = { ...GLOBAL_OPTIONS, ...spec?.options };
  if (isOption(last) && takesNext(last, options)) return valueOf(last, options);
  const found = current.startsWith("-") ? toOptions(options) : spec ? argument(spec, others) : { candidates: nextWords(words) };
  return { ...found, candidates: found.candidates.filter(({ word }) => word.startsWith(current)) };
}

/** The first word of a command, or the second one after a noun. */
function nextWords([first]: readonly string[]): readonly Candidate[] {
  if (first !== undefined) return verbsOf(first).map(({ name, summary }) => ({ word: name.slice(first.length + 1), about: summary }));
  return [...everyFirstWord()].map((word) => ({ word, about: findSpec([word])?.summary ?? summaryOf(word) }));
}

function summaryOf(word: string): string {
  return word === "help"
    ? "Show the help of a command"
    : verbsOf(word)
        .map(({ name }) => name.split(" ")[1])
        .join(", ");
}

function toOptions(options: Readonly<Record<string, OptionSpec>>): Completion {
  return { candidates: Object.entries(options).map(([name, { description }]) => ({ word: `--${name}`, about: description })) };
}

function valueOf(option: string, options: Readonly<Record<string, OptionSpec>>): Completion {
  const found = Object.entries(options).find(([name, { short }]) => option === `--${name}` || isLetter(option, short));
  const value = found?.[1].value ?? "";
  if (value === "ID") return { candidates: [], more: "sandboxes" };
  if (value === "TOOL") return { candidates: [], more: "tools" };
  return /DIR|FILE/.test(value) ? FILES : NOTHING;
}

/** Whether it is the last letter of a group such as `-it`. */
function isLetter(option: string, short: string | undefined): boolean {
  return short !== undefined && !option.startsWith("--") && option.endsWith(short);
}

/** By the command's usage: `ID PORT`. The last word of it stands for all that follow. */
function argument(spec: CommandSpec, others: readonly string[]): Completion {
  const given = countPositionals(spec, others);
  if (spec.choices && given === 0) return { candidates: spec.choices.map((word) => ({ word, about: "" })) };
  const form = spec.usage.split(" ").filter((word) => word !== "[--]");
  const word = form[Math.min(given, form.length - 1)] ?? "";
  if (given >= spec.positionals.max && !spec.rest) return NOTHING;
  if (/^\[?ID\b/.test(word) && !word.includes(":"))
    return { candidates: [], more: spec.name.startsWith("token ") ? "tokens" : "sandboxes" };
  if (/^\[?NAME\b/.test(word) && spec.name.startsWith("tool ")) return { candidates: [], more: "tools" };
  return /FILE|PATH|SRC|DST|ARG/.test(word) ? FILES : NOTHING;
}

function countPositionals(spec: CommandSpec, others: readonly string[]): number {
  const options = { ...GLOBAL_OPTIONS, ...spec.options };
  let count = 0;
  for (let index = 0; index < others.length; index++) {
    const text = others[index] ?? "";
    if (!isOption(text)) count += 1;
    else if (takesNext(text, options)) index += 1;
  }
  return count;
}
