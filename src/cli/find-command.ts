import { COMMANDS, GLOBAL_OPTIONS } from "./command-table.ts";
import type { CommandSpec, OptionSpec } from "./command.ts";
import { didYouMean } from "../files/suggest.ts";
import { usage } from "./usage.ts";

/** The noun that may be left out: `belljar list` is `belljar sandbox list`. */
const USUAL_NOUN = "sandbox";

/** The words of a command line that say which command it is, and the rest of it. */
export interface FoundWords {
  /** One word, or noun and verb. Empty if there is none. */
  readonly words: readonly string[];
  /** The other arguments, in their order. */
  readonly others: readonly string[];
}

/** Finds the command's words. Options, with their values, may stand before and between them. */
export function findWords(argv: readonly string[]): FoundWords {
  const words: string[] = [];
  const others: string[] = [];
  let wanted = 1;
  for (let index = 0; index < argv.length; index++) {
    const text = argv[index] ?? "";
    if (text === "--" || words.length === wanted) return { words, others: [...others, ...argv.slice(index)] };
    if (isOption(text)) {
      others.push(text);
      if (takesNext(text) && index + 1 < argv.length) others.push(argv[++index] ?? "");
    } else {
      const [noun] = words;
      if (noun !== undefined && isUsualVerb(noun) && !findSpec([noun, text]))
        return { words: [USUAL_NOUN, noun], others: [...others, ...argv.slice(index)] };
      words.push(text);
      if (words.length === 1 && verbsOf(text).length > 0) wanted = 2;
    }
  }
  return { words, others };
}

/** `network` is a noun with verbs of its own, and a command of sandboxes: what follows it decides. */
function isUsualVerb(word: string): boolean {
  return named(`${USUAL_NOUN} ${word}`) !== undefined;
}

/** Whether it is an option, and not a file: `-` stands for stdin. */
export function isOption(text: string): boolean {
  return text.startsWith("-") && text !== "-";
}

/**
 * Whether the next argument is the option's value. Every command that has the option agrees, but for a few (`test/pins/cli.test.ts`). Before
 * the command such a one has its value.
 */
export function takesNext(text: string, options: Readonly<Record<string, OptionSpec>> = everyOption()): boolean {
  if (text.startsWith("--")) {
    const option = options[text.slice(2)];
    return option?.type === "string" && option.bare === undefined;
  }
  const shorts = Object.values(options);
  const letters = text.slice(1).split("");
  const valued = letters.findIndex((letter) => shorts.some(({ short, type }) => short === letter && type === "string"));
  return valued >= 0 && valued === letters.length - 1;
}

let known: Readonly<Record<string, OptionSpec>> | undefined;
function everyOption(): Readonly<Record<string, OptionSpec>> {
  const all = [...COMMANDS.flatMap(({ options }) => Object.entries(options)), ...Object.entries<OptionSpec>(GLOBAL_OPTIONS)];
  known ??= Object.fromEntries([...all.filter(([, { type }]) => type === "boolean"), ...all.filter(([, { type }]) => type === "string")]);
  return known;
}

/** The commands of a noun. */
export function verbsOf(noun: string): readonly CommandSpec[] {
  return COMMANDS.filter((spec) => spec.name.startsWith(`${noun} `));
}

/** Throws `USAGE`, with what was probably meant. */
export function findCommand(words: readonly string[]): CommandSpec {
  const [first = "", second] = words;
  const verbs = verbsOf(first);
  const spec = findSpec(words);
  if (spec) return spec;
  if (verbs.length === 0) {
    throw usage(`Unknown command "${first}"${didYouMean(first, [...everyFirstWord()])}`, "belljar --help");
  }
  const orId = isUsualVerb(first) ? ", or the ID of a sandbox" : "";
  if (second === undefined) throw usage(`"${first}" needs one of: ${verbNames(verbs)}${orId}`, `belljar ${first} --help`);
  const meant = didYouMean(
    second,
    verbs.flatMap((one) => [one.name, ...(one.synonyms ?? [])]).map((name) => name.slice(first.length + 1)),
  );
  throw usage(`Unknown command "${first} ${second}"; expected one of: ${verbNames(verbs)}${meant}`, `belljar ${first} --help`);
}

/** The command of these words, if there is one. */
export function findSpec([first = "", second]: readonly string[]): CommandSpec | undefined {
  if (verbsOf(first).length > 0) return second === undefined ? undefined : named(`${first} ${second}`);
  return named(first) ?? named(`${USUAL_NOUN} ${first}`);
}

function named(name: string): CommandSpec | undefined {
  return COMMANDS.find((spec) => spec.name === name || spec.synonyms?.includes(name));
}

/** What can be the first word. */
export function everyFirstWord(): ReadonlySet<string> {
  const names = COMMANDS.flatMap((spec) => [spec.name, ...(spec.synonyms ?? [])]);
  const withoutNoun = names.flatMap((name) => (name.startsWith(`${USUAL_NOUN} `) ? [name.slice(USUAL_NOUN.length + 1)] : []));
  return new Set(["help", ...names.map((name) => name.split(" ")[0] ?? ""), ...withoutNoun]);
}

function verbNames(specs: readonly CommandSpec[]): string {
  return specs.map((spec) => spec.name.split(" ")[1]).join(", ");
}
