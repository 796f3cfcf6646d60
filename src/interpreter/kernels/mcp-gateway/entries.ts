/** A server that this program can start: a command, or a repository that has one. */
export interface Entry {
  readonly name: string;
  readonly argv: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
  /** Of GitHub, as `OWNER/REPO`: it is cloned, and the commands run in its folder. */
  readonly repository: string | undefined;
  /** For a shell, once after the clone. */
  readonly install: string | undefined;
}

export interface Entries {
  readonly entries: readonly Entry[];
  /** A line for each entry that cannot be served. */
  readonly refused: readonly string[];
}

const REPOSITORY = /^github\/([A-Za-z0-9][\w.-]*\/[A-Za-z0-9_][\w.-]*)$/;

/** Reads what `Sandbox.create({ mcp })` was given. Throws for what is no such object. */
export function parseEntries(config: string): Entries {
  const value: unknown = JSON.parse(config);
  if (!isRecord(value)) throw new TypeError("the configuration is no object of servers");
  const entries: Entry[] = [];
  const refused: string[] = [];
  for (const [name, given] of Object.entries(value)) {
    const entry = isRecord(given) ? toEntry(name, given) : undefined;
    if (entry) entries.push(entry);
    else refused.push(`${name}: not served, as it is neither a command nor a repository: ${REMEDY}`);
  }
  return { entries, refused };
}

export const REMEDY = `servers of a catalogue are images, which do not run in a sandbox; give it as "github/OWNER/REPO": { runCmd } or { command, args }`;

function toEntry(name: string, given: Readonly<Record<string, unknown>>): Entry | undefined {
  const { runCmd, installCmd, command, args = [], envs, env } = given;
  const repository = REPOSITORY.exec(name)?.[1];
  if (repository === undefined && name.startsWith("github/")) return undefined;
  const variables = toVariables(envs ?? env ?? {});
  const argv = toArgv(runCmd, command, args);
  const isWhole = argv !== undefined && variables !== undefined && (installCmd === undefined || typeof installCmd === "string");
  return isWhole ? { name, argv, env: variables, repository, install: installCmd } : undefined;
}

/** `runCmd` is a shell's line, by E2B's own words. */
function toArgv(runCmd: unknown, command: unknown, args: unknown): Entry["argv"] | undefined {
  if (typeof runCmd === "string") return ["/bin/sh", "-c", runCmd];
  const isCommand = typeof command === "string" && Array.isArray(args) && args.every((each) => typeof each === "string");
  return isCommand ? [command, ...args] : undefined;
}

function toVariables(given: unknown): Readonly<Record<string, string>> | undefined {
  if (!isRecord(given)) return undefined;
  return Object.values(given).every((value) => typeof value === "string") ? (given as Record<string, string>) : undefined;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
