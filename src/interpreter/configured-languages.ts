import { BelljarError } from "../errors.ts";
import { entryOf, type Language, LANGUAGES } from "./language.ts";

/** What the configuration says of one language. */
export interface LanguageSettings {
  /** What fresh sandboxes for its programs start from. */
  readonly template?: string | undefined;
  /** The program that runs the main file, with its first arguments. In the place of all that Belljar knows of compiling and running it. */
  readonly command?: readonly string[] | undefined;
  /** Of its files, with the dot. Only for a language that Belljar does not know. */
  readonly extension?: string | undefined;
}

/** By the names of the languages. */
export type LanguagesSettings = Readonly<Record<string, LanguageSettings>>;

/** The table of languages with what the configuration says. Throws `CONFIG_INVALID`, which names all that is wrong. */
export function configureLanguages(settings: LanguagesSettings): readonly Language[] {
  const given = Object.entries(settings);
  const problems = given.flatMap(([name, one]) => findProblem(name, one) ?? []);
  if (problems.length > 0) throw new BelljarError("CONFIG_INVALID", `The configuration is invalid:\n${problems.join("\n")}`);
  const known = new Map(given);
  const changed = LANGUAGES.map((language) => change(language, known.get(language.name)));
  return [...changed, ...given.filter(([name]) => !isKnown(name)).map(([name, one]) => add(name, one))];
}

function isKnown(name: string): boolean {
  return LANGUAGES.some((language) => language.name === name);
}

function findProblem(name: string, { command, extension }: LanguageSettings): string | undefined {
  const other = LANGUAGES.find(({ aliases }) => aliases.includes(name));
  if (other) return `  languages.${name}: is another name of ${other.name}; write languages.${other.name}`;
  if (isKnown(name)) return extension === undefined ? undefined : `  languages.${name}.extension: Belljar knows it; leave it out`;
  if (command) return undefined;
  return `  languages.${name}.command: Belljar does not know ${name}; name the program that runs it, such as ["${name}"]`;
}

function change(language: Language, settings: LanguageSettings = {}): Language {
  const { template, command } = settings;
  if (template === undefined && command === undefined) return language;
  const { compile, ...own } = language;
  return { ...own, ...(command ? runBy(command) : compile && { compile }), ...(template !== undefined && { template }) };
}

function add(name: string, { template, command = [], extension }: LanguageSettings): Language {
  return {
    name,
    title: name,
    aliases: [],
    extensions: extension === undefined ? [] : [extension],
    entryFile: `main${extension ?? ""}`,
    ...runBy(command),
    ...(template !== undefined && { template }),
  };
}

function runBy(command: readonly string[]): Pick<Language, "command" | "run"> {
  return { command: command[0] ?? "", run: (build) => [...command, entryOf(build)] };
}
