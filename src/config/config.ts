import { readFileSync } from "node:fs";
import { availableParallelism, homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import type * as z from "zod";
import { BelljarError } from "../errors.ts";
import { errnoOf } from "../files/file-error.ts";
import { configKeys } from "./config-keys.ts";
import type { ConfigDefaults, ParsedConfig } from "./config-schema.ts";
import { createConfigSchema } from "./config-schema.ts";

type Environment = Readonly<Record<string, string | undefined>>;
type Settings = Readonly<Record<string, unknown>>;
type ParsedLimits = Omit<ParsedConfig["program"], "network">;

/** A timeout and a set of limits. An absent limit means unlimited. */
export type ConfiguredLimits = { readonly timeoutMs: number } & {
  readonly [Key in Exclude<keyof ParsedLimits, "timeoutMs">]?: number;
};

/** All settings, loaded once at the start and frozen. */
export type Config = Readonly<Omit<ParsedConfig, "program" | "sandbox">> & {
  readonly program: ConfiguredLimits & { readonly network: string };
  readonly sandbox: ConfiguredLimits & { readonly network: string; readonly root: boolean } & KeepSettings & CheckpointSettings;
};

/** What becomes of sandboxes that nobody uses. */
type KeepSettings = Readonly<Pick<ParsedConfig["sandbox"], "keep" | "keepBytes" | "keepMemoryBytes" | "pauseIdleMs">>;

/** Which checkpoints are taken unasked. */
type CheckpointSettings = Readonly<Pick<ParsedConfig["sandbox"], "autoCheckpoint" | "autoCheckpointKeep">>;

export interface LoadConfigOptions {
  /** Settings of the command line, nested like the file. Undefined values count as not given. */
  readonly flags?: Settings;
  readonly env?: Environment;
  /** File of `--config`, which must exist. Without it, `config.json` in the home is read if it exists. */
  readonly file?: string;
  readonly host?: HostFacts;
}

export interface HostFacts {
  readonly uid: number;
  readonly cpus: number;
  /** Undefined for a user without a home directory. */
  readonly homeDirectory?: string;
}

/**
 * Loads the configuration: defaults < file < environment < flags. Throws `CONFIG_INVALID`, which names every invalid field.
 * It creates nothing on disk.
 */
export function loadConfig(options: LoadConfigOptions = {}): Config {
  const env = options.env ?? process.env;
  const flags = withoutUndefined(options.flags ?? {});
  const defaults = hostDefaults(env, options.host ?? hostFacts());
  const named = options.file === undefined ? undefined : readSettings(options.file, true);
  const home = firstText(flags["home"], env["BELLJAR_HOME"], named?.["home"]) ?? defaults.home;
  if (home === "") throw new BelljarError("CONFIG_INVALID", "This user has no home folder: set BELLJAR_HOME to a folder for the sandboxes");
  const file = named ?? readHomeSettings(resolve(home));
  const schema = createConfigSchema({ ...defaults, home: resolve(home) });
  const settings = [file, environmentSettings(env, schema), flags].reduce(merge, {});
  const given = typeof settings["home"] === "string" ? { ...settings, home: resolve(home) } : settings;
  // It is parsed once: to compile it takes longer than the rest of a short command.
  const parsed = schema.safeParse(given, { jitless: true });
  if (!parsed.success) throw invalid(parsed.error.issues);
  return freeze(parsed.data);
}

function hostFacts(): HostFacts {
  const homeDirectory = findHomeDirectory();
  return { uid: process.getuid?.() ?? 0, cpus: availableParallelism(), ...(homeDirectory && { homeDirectory }) };
}

/** Without $HOME, Node asks the user database. The database does not know every uid of a container. */
function findHomeDirectory(): string | undefined {
  try {
    return homedir();
  } catch {
    return undefined;
  }
}

/** The defaults of this host. If `home` is empty, a setting must name it. */
function hostDefaults(env: Environment, host: HostFacts): ConfigDefaults {
  const home = host.homeDirectory ? join(host.homeDirectory, ".belljar") : "";
  return { home, runtimeDirectory: defaultRuntimeDirectory(env, host.uid), cpus: host.cpus };
}

function defaultRuntimeDirectory(env: Environment, uid: number): string {
  if (uid === 0) return "/run/belljar";
  const base = env["XDG_RUNTIME_DIR"];
  return base && isAbsolute(base) ? join(base, "belljar") : `/tmp/belljar-${uid}`;
}

function readHomeSettings(home: string): Settings {
  const path = join(home, "config.json");
  const settings = readSettings(path, false);
  if ("home" in settings)
    throw new BelljarError("CONFIG_INVALID", `${path} sets "home", but it is read from the home: set BELLJAR_HOME instead`);
  return settings;
}

function readSettings(path: string, mustExist: boolean): Settings {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    if (!mustExist && isMissing(cause)) return {};
    throw new BelljarError("CONFIG_INVALID", `Cannot read the configuration ${path}: check that the file exists and is readable`, {
      cause,
    });
  }
  return parseSettings(path, text);
}

function isMissing(cause: unknown): boolean {
  const code = errnoOf(cause);
  return code === "ENOENT" || code === "ENOTDIR";
}

function parseSettings(path: string, text: string): Settings {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new BelljarError("CONFIG_INVALID", `${path} is not JSON`, { cause });
  }
  if (!isRecord(value)) throw new BelljarError("CONFIG_INVALID", `${path} must hold one JSON object`);
  return value;
}

/** An empty variable counts as not set. */
function environmentSettings(env: Environment, schema: z.ZodType): Settings {
  return configKeys(schema).reduce<Settings>((settings, { path, env: names }) => {
    const text = names.map((name) => env[name]).find((value) => value !== undefined && value !== "");
    return text === undefined ? settings : merge(settings, nest(path, text));
  }, {});
}

function nest(path: readonly string[], value: unknown): Settings {
  return path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value) as Settings;
}

function merge(under: Settings, over: Settings): Settings {
  const merged: Record<string, unknown> = { ...under };
  for (const [key, value] of Object.entries(over)) {
    const below = merged[key];
    merged[key] = isRecord(below) && isRecord(value) ? merge(below, value) : value;
  }
  return merged;
}

function withoutUndefined(settings: Settings): Settings {
  const given = Object.entries(settings).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([key, value]) => [key, isRecord(value) ? withoutUndefined(value) : value]));
}

function isRecord(value: unknown): value is Settings {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function firstText(...values: readonly unknown[]): string | undefined {
  return values.find((value): value is string => typeof value === "string" && value !== "");
}

function freeze(parsed: ParsedConfig): Config {
  return Object.freeze({ ...parsed, program: givenSettings(parsed.program), sandbox: sandboxSettings(parsed.sandbox) });
}

function sandboxSettings({
  keep,
  keepBytes,
  keepMemoryBytes,
  pauseIdleMs,
  autoCheckpoint,
  autoCheckpointKeep,
  root,
  ...given
}: ParsedConfig["sandbox"]): Config["sandbox"] {
  return Object.freeze({
    ...givenSettings(given),
    keep,
    keepBytes,
    keepMemoryBytes,
    pauseIdleMs,
    autoCheckpoint,
    autoCheckpointKeep,
    root,
  });
}

function givenSettings({ network, ...limits }: ParsedConfig["program"]): Config["program"] {
  return Object.freeze({ ...givenLimits(limits), network });
}

function givenLimits(limits: ParsedLimits): ConfiguredLimits {
  const given = Object.entries(limits).filter(([, value]) => value !== null);
  return { ...Object.fromEntries(given), timeoutMs: limits.timeoutMs };
}

function invalid(issues: readonly z.core.$ZodIssue[]): BelljarError {
  const lines = issues.flatMap(issueLines);
  return new BelljarError("CONFIG_INVALID", `The configuration is invalid:\n${lines.map((line) => `  ${line}`).join("\n")}`);
}

function issueLines(issue: z.core.$ZodIssue): readonly string[] {
  if (issue.code === "unrecognized_keys") return issue.keys.map((key) => `${[...issue.path, key].join(".")}: no such setting`);
  const key = configKeys().find(({ path }) => path.join(".") === issue.path.join("."));
  const variable = key ? ` (${key.env[0]})` : "";
  return [`${issue.path.join(".")}${variable}: ${issue.message}`];
}
