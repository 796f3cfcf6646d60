import { resolve } from "node:path";
import * as z from "zod";
import { formatDuration } from "../../config/duration.ts";
import { formatSize } from "../../config/size.ts";
import { BelljarError } from "../../errors.ts";
import { parseJson } from "../../files/parse-json.ts";
import { LANGUAGES } from "../../interpreter/language.ts";
import { ImageTemplates } from "./image-templates.ts";
import type { ImportedConfig } from "./imported-config.ts";

const MIB = 1024 * 1024;
const MONTH_SECONDS = 30 * 86_400;
const LANGUAGES_KEY = "languageSettings";
/** Of a setting's name in a line for a person. */
const NAME_SHOWN = 60;
/** Lines about one thing. */
const SHOWN_MAX = 50;

/** What becomes of one setting: another one, or nothing, for a reason. */
type Outcome = { readonly path: readonly string[]; readonly value: unknown } | { readonly reason: string };

interface Setting {
  /** Throws the problem with the value, as a `ZodError`. */
  convert(value: unknown, folder: string): Outcome;
}

function setting<Value>(schema: z.ZodType<Value>, toOutcome: (value: Value, folder: string) => Outcome): Setting {
  return { convert: (value, folder) => toOutcome(schema.parse(value), folder) };
}

function without(reason: string): Setting {
  return setting(z.unknown(), () => ({ reason }));
}

/** A limit, of which zero and less mean none. */
function limit(min: number, max: number) {
  const isLimit = (value: number): boolean => value <= 0 || (value >= min && value <= max);
  return z.number().refine(isLimit, `must be from ${min} to ${max}, or 0 for no limit`);
}

function program(key: string, value: unknown): Outcome {
  return { path: ["program", key], value };
}

const SETTINGS: Readonly<Record<string, Setting>> = {
  isolatorPath: without("Belljar makes sandboxes itself"),
  defaultTimeoutSeconds: setting(z.number().min(0.001).max(MONTH_SECONDS), (seconds) =>
    program("timeoutMs", formatDuration(Math.round(seconds * 1000))),
  ),
  defaultMemoryMB: setting(limit(16, 2 ** 40), (mib) => program("memoryBytes", mib <= 0 ? null : formatSize(Math.floor(mib * MIB)))),
  defaultCpus: setting(limit(0.01, 4096), (cpus) => program("cpus", cpus <= 0 ? null : cpus)),
  defaultPidsLimit: setting(limit(8, 2 ** 31), (pids) => program("pids", pids <= 0 ? null : Math.floor(pids))),
  defaultNetworkMode: setting(z.string(), toNetwork),
  defaultCapDrop: without("programs have no capability outside of their sandbox"),
  defaultReadOnlyRootfs: without("each program has a root of its own, which it may write and which is gone afterwards"),
  defaultContainerWorkdir: without("each program starts in a folder of its own"),
  promptsDir: setting(z.string().min(1).max(4096), (path, folder) => ({ path: ["snippetsDirectory"], value: resolve(folder, path) })),
};

/** A network of Docker's without a counterpart is none: a program reaches nothing that nobody has named. */
function toNetwork(mode: string): Outcome {
  if (mode === "none") return program("network", "none");
  if (mode === "bridge" || mode === "default") return program("network", "all");
  return { reason: 'set program.network to what programs may reach; until then it is "none"' };
}

const Languages = z.record(z.string(), z.union([z.string(), z.looseObject({ image: z.string() })]));

/**
 * Reads an `isolator_config.json` that lies in the folder. Throws `CONFIG_INVALID`, which names all that is wrong with it; nothing of such a
 * file is taken over.
 */
export function readIsolatorConfig(text: string, folder: string): ImportedConfig {
  const file = parseJson(text);
  if (typeof file !== "object" || file === null || Array.isArray(file)) throw invalid(["it holds no JSON object"]);
  const given = Object.entries(file);
  if (!given.some(([name]) => isKnown(name)))
    throw invalid([`it has none of the settings ${[...Object.keys(SETTINGS), LANGUAGES_KEY].join(", ")}`]);
  const reader = new IsolatorReader(folder);
  for (const [name, value] of given) reader.take(name, value);
  return reader.finish();
}

function isKnown(name: string): boolean {
  return name === LANGUAGES_KEY || Object.hasOwn(SETTINGS, name);
}

type Settings = Readonly<Record<string, unknown>>;

class IsolatorReader {
  readonly #folder: string;
  readonly #images = new ImageTemplates();
  #settings: Settings = {};
  readonly #taken: string[] = [];
  readonly #left: string[] = [];
  readonly #problems: string[] = [];
  #unknown = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  take(name: string, value: unknown): void {
    if (name === LANGUAGES_KEY) return this.#check(name, () => this.#takeLanguages(Languages.parse(value)));
    const known = Object.hasOwn(SETTINGS, name) ? SETTINGS[name] : undefined;
    if (known) this.#check(name, () => this.#place(name, known.convert(value, this.#folder)));
    else this.#takeUnknown(name);
  }

  finish(): ImportedConfig {
    if (this.#problems.length > 0) throw invalid(this.#problems);
    const more = this.#unknown - SHOWN_MAX;
    const left = more > 0 ? [...this.#left, `${more} more that Belljar does not know`] : this.#left;
    return { settings: this.#settings, taken: this.#taken, left, images: this.#images.all() };
  }

  #place(name: string, outcome: Outcome): void {
    if ("reason" in outcome) return void this.#left.push(`${name}: ${outcome.reason}`);
    const { path, value } = outcome;
    this.#settings = put(this.#settings, path, value);
    this.#taken.push(`${name}: ${path.join(".")} = ${JSON.stringify(value)}`);
  }

  #takeLanguages(languages: z.output<typeof Languages>): void {
    const placed = new Set<string>();
    for (const [name, given] of Object.entries(languages)) {
      const path = `${LANGUAGES_KEY}.${shorten(name)}`;
      const { image, ...others } = typeof given === "string" ? { image: given } : given;
      for (const other of Object.keys(others)) this.#takeUnknown(`${path}.${shorten(other)}`);
      this.#check(path, () => this.#takeLanguage({ path, name, image }, placed));
    }
  }

  #takeLanguage(
    { path, name, image }: { readonly path: string; readonly name: string; readonly image: string },
    placed: Set<string>,
  ): void {
    const wanted = name.trim().toLowerCase();
    const language = LANGUAGES.find((one) => one.name === wanted || one.aliases.includes(wanted));
    if (!language)
      return void this.#left.push(
        `${path} (${shorten(image)}): Belljar does not know it: add languages.NAME with a command and a template`,
      );
    if (placed.has(language.name))
      return void this.#left.push(`${path} (${shorten(image)}): another name of ${language.name}, which is taken`);
    placed.add(language.name);
    const { template } = this.#images.add(image);
    this.#place(`${path} (${image})`, { path: ["languages", language.name, "template"], value: template });
  }

  #takeUnknown(name: string): void {
    this.#unknown += 1;
    if (this.#unknown <= SHOWN_MAX) this.#left.push(`${shorten(name)}: Belljar does not know it`);
  }

  #check(name: string, work: () => void): void {
    try {
      work();
    } catch (cause) {
      if (cause instanceof z.ZodError)
        this.#problems.push(
          ...cause.issues.map(({ path, message }) => `${[name, ...path].map(String).map(shorten).join(".")}: ${message}`),
        );
      else if (cause instanceof BelljarError) this.#problems.push(`${name}: ${cause.message}`);
      else throw cause;
    }
  }
}

function put(under: Settings, [key = "", ...rest]: readonly string[], value: unknown): Settings {
  return { ...under, [key]: rest.length === 0 ? value : put((under[key] ?? {}) as Settings, rest, value) };
}

function shorten(name: string): string {
  return name.length > NAME_SHOWN ? `${name.slice(0, NAME_SHOWN)}...` : name;
}

function invalid(problems: readonly string[]): BelljarError {
  const lines = problems.slice(0, SHOWN_MAX).map((problem) => `\n  ${problem}`);
  return new BelljarError("CONFIG_INVALID", `This is no isolator_config.json that can be read:${lines.join("")}`);
}
