import { z } from "zod";
import { BelljarError } from "../../../errors.ts";
import { slipOf } from "../../../files/suggest.ts";
import { readAuth } from "./read-auth.ts";
import type { HttpConfig, HttpKind, ServerConfig, StdioConfig } from "./server-config.ts";

const ENTRIES_MAX = 1000;
/** Linux takes no longer argument or variable. */
const CHARACTERS_MAX = 128 * 1024;
/** Some hosts count `timeout` in milliseconds and some in seconds; a number below this is no useful count of milliseconds. */
const TIMEOUT_MIN_MS = 1000;
const TIMEOUT_MAX_MS = 24 * 3_600_000;

const text = z.string().max(CHARACTERS_MAX);
const filled = text.min(1);
const texts = z.array(text).max(ENTRIES_MAX);
const plain = z.union([text, z.number().transform(String), z.boolean().transform(String)], { error: "must be a text" });
const table = z
  .record(filled, plain)
  .refine((value) => Object.keys(value).length <= ENTRIES_MAX, { error: `has over ${ENTRIES_MAX} entries` });
/** Of several hosts, and in several units, so a strange one is ignored. */
const time = z.unknown().optional();
const seconds = z.number().positive().optional();

const TARGETS = ["command", "url", "httpUrl", "serverUrl"];

/** The fields that mean something here, under the names of all hosts. Every other key is another host's, and is ignored. */
const entrySchema = z.looseObject({
  type: z.unknown().optional(),
  command: z.union([filled, z.array(text).min(1).max(ENTRIES_MAX)], { error: "must be a text" }).optional(),
  args: texts.optional(),
  env: table.optional(),
  environment: table.optional(),
  envFile: filled.optional(),
  env_vars: texts.optional(),
  cwd: filled.optional(),
  url: filled.optional(),
  httpUrl: filled.optional(),
  serverUrl: filled.optional(),
  headers: table.optional(),
  http_headers: table.optional(),
  env_http_headers: table.optional(),
  bearer_token_env_var: filled.optional(),
  auth: z.unknown().optional(),
  oauth: z.unknown().optional(),
  headersHelper: z.undefined({ error: "runs a program, which Belljar does not do: write the headers under headers" }).optional(),
  disabled: z.boolean().optional(),
  enabled: z.boolean().optional(),
  timeout: time,
  startup_timeout_sec: seconds,
  tool_timeout_sec: seconds,
});

type Entry = z.infer<typeof entrySchema>;

/** The names of the fields that mean something here. */
export const ENTRY_FIELDS: readonly string[] = Object.keys(entrySchema.shape);

/** Where an entry stands, for its errors. */
export interface EntryPlace {
  readonly file: string;
  readonly name: string;
  readonly expands: boolean;
}

/** Reads one server of a file. Throws `CONFIG_INVALID`, with the file, the server and the field, and without any value. */
export function readEntry(value: unknown, place: EntryPlace): ServerConfig {
  const parsed = entrySchema.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw entryError(place, issue?.path.map(String).join(".") ?? "", issue?.message ?? "cannot be read");
  }
  const entry = parsed.data;
  if (entry.command !== undefined) return toStdio(entry, entry.command, place);
  const url = entry.httpUrl ?? entry.serverUrl ?? entry.url;
  if (url === undefined) throw entryError(place, "command", `is missing, and so is url: a server has one of them${adviceFor(entry)}`);
  return toHttp(entry, url, place);
}

/** Names the key that was probably meant to be the program or the address. */
function adviceFor(entry: Entry): string {
  for (const key of Object.keys(entry)) {
    const meant = Object.hasOwn(entrySchema.shape, key) ? undefined : slipOf(key, TARGETS);
    if (meant !== undefined) return `. "${key}" is no field: did you mean "${meant}"?`;
  }
  return "";
}

export function entryError({ file, name }: Omit<EntryPlace, "expands">, field: string, problem: string): BelljarError {
  return new BelljarError("CONFIG_INVALID", `${file}: server "${name}"${field === "" ? "" : `, ${field}`}: ${problem}`);
}

function toStdio(entry: Entry, command: string | readonly string[], place: EntryPlace): StdioConfig {
  const [program = "", ...first] = typeof command === "string" ? [command] : command;
  return {
    ...sharedOf(entry, place),
    kind: "stdio",
    command: program,
    args: [...first, ...(entry.args ?? [])],
    env: { ...entry.environment, ...entry.env },
    envFile: entry.envFile,
    cwd: entry.cwd,
    inherits: entry.env_vars ?? [],
  };
}

function toHttp(entry: Entry, url: string, place: EntryPlace): HttpConfig {
  const named = Object.entries(entry.env_http_headers ?? {}).map(([header, variable]) => [header, { variable, prefix: "" }] as const);
  const bearer = entry.bearer_token_env_var;
  const { headers, oauth } = readAuth(entry.auth, entry.oauth, (field, problem) => entryError(place, field, problem));
  return {
    ...sharedOf(entry, place),
    kind: entry.httpUrl === undefined ? kindOf(entry.type) : "http",
    url,
    headers: { ...entry.http_headers, ...entry.headers, ...headers },
    oauth,
    headersFrom: { ...Object.fromEntries(named), ...(bearer !== undefined && { Authorization: { variable: bearer, prefix: "Bearer " } }) },
  };
}

function kindOf(type: unknown): HttpKind {
  if (type === "sse") return "sse";
  return typeof type === "string" && /^(?:streamable[-_]?)?http$/i.test(type) ? "http" : "any";
}

function sharedOf(
  entry: Entry,
  { name, expands }: EntryPlace,
): Pick<ServerConfig, "name" | "expands" | "isDisabled" | "callTimeoutMs"> & {
  readonly startTimeoutMs: number | undefined;
} {
  const { timeout, startup_timeout_sec: start, tool_timeout_sec: call } = entry;
  return {
    name,
    expands,
    isDisabled: entry.disabled === true || entry.enabled === false,
    startTimeoutMs: start === undefined ? undefined : Math.min(start * 1000, TIMEOUT_MAX_MS),
    callTimeoutMs: call === undefined ? readTimeout(timeout) : Math.min(call * 1000, TIMEOUT_MAX_MS),
  };
}

function readTimeout(timeout: unknown): number | undefined {
  return typeof timeout === "number" && timeout >= TIMEOUT_MIN_MS ? Math.min(timeout, TIMEOUT_MAX_MS) : undefined;
}
