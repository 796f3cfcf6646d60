import { resolve } from "node:path";
import { parseEnv } from "node:util";
import type { BelljarError } from "../../../errors.ts";
import type { OAuthSettings } from "../oauth/auth-settings.ts";
import type { ConfigScope } from "./expand.ts";
import { expand, inputsIn, UnknownVariable } from "./expand.ts";
import { entryError } from "./read-entry.ts";
import type { HttpConfig, HttpKind, ServerConfig, StdioConfig } from "./server-config.ts";

/** A server that can be started: all its variables have values. */
export type ServerTarget = StdioTarget | HttpTarget;

export interface StdioTarget extends Pick<StdioConfig, "kind" | "name" | "startTimeoutMs" | "callTimeoutMs"> {
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment of the server on this machine. */
  readonly env: Readonly<Record<string, string>>;
  /** What of it the entry itself names: all that a server in a sandbox gets. */
  readonly ownEnv: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
}

export interface HttpTarget extends Pick<HttpConfig, "name" | "startTimeoutMs" | "callTimeoutMs"> {
  readonly kind: HttpKind;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined for a server whose headers say who calls. */
  readonly oauth?: OAuthSettings | undefined;
}

/** The environment of every stdio server, beside what its entry says: the list of the SDK. Keys and tokens of the person are not in it. */
const INHERITED = ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"];
const CHARACTERS_MAX = 128 * 1024;

/** The ids of the inputs that a server needs. */
export function inputsOf(config: ServerConfig): ReadonlySet<string> {
  if (!config.expands) return new Set();
  const texts =
    config.kind === "stdio"
      ? [config.command, ...config.args, ...Object.values(config.env), config.envFile ?? "", config.cwd ?? ""]
      : [config.url, ...Object.values(config.headers), ...Object.values(config.oauth ?? {}).filter((value) => typeof value === "string")];
  return new Set(texts.flatMap(inputsIn));
}

/** The path of the server's `envFile`, if it has one. Throws `CONFIG_INVALID` as `resolveServer` does. */
export function envFileOf(config: ServerConfig, file: string, scope: ConfigScope): string | undefined {
  if (config.kind !== "stdio" || config.envFile === undefined) return undefined;
  return resolve(scope.workspaceFolder, fieldsOf(config, file, scope).text("envFile", config.envFile));
}

/**
 * Gives all variables of a server their values. `envFile` is the text of that file. Throws `CONFIG_INVALID`, with the file, the server and
 * the field, for a variable without a value and for a value that cannot be sent; no message has a value in it.
 */
export function resolveServer(config: ServerConfig, file: string, scope: ConfigScope, envFile?: string): ServerTarget {
  const { name, startTimeoutMs, callTimeoutMs } = config;
  const fields = fieldsOf(config, file, scope);
  const shared = { name, startTimeoutMs, callTimeoutMs };
  return config.kind === "stdio"
    ? { ...shared, kind: "stdio", ...resolveStdio(config, fields, scope, envFile) }
    : { ...shared, kind: config.kind, ...resolveHttp(config, fields, scope) };
}

/** The fields of one entry. */
interface Fields {
  text(field: string, value: string): string;
  table(field: string, values: Readonly<Record<string, string>>): Readonly<Record<string, string>>;
  error(field: string, problem: string): BelljarError;
}

function fieldsOf({ name, expands }: ServerConfig, file: string, scope: ConfigScope): Fields {
  const error = (field: string, problem: string): BelljarError => entryError({ file, name }, field, problem);
  const text = (field: string, value: string): string => {
    const expanded = expands ? expandField(value, scope, (problem) => error(field, problem)) : value;
    if (expanded.includes("\0")) throw error(field, "it has a NUL character");
    if (expanded.length > CHARACTERS_MAX) throw error(field, `it has over ${CHARACTERS_MAX} characters`);
    return expanded;
  };
  const table = (field: string, values: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
    Object.fromEntries(Object.entries(values).map(([key, value]) => [key, text(`${field}.${key}`, value)]));
  return { text, table, error };
}

function expandField(value: string, scope: ConfigScope, toError: (problem: string) => BelljarError): string {
  try {
    return expand(value, scope);
  } catch (cause) {
    throw cause instanceof UnknownVariable ? toError(cause.message) : cause;
  }
}

function resolveStdio(
  config: StdioConfig,
  fields: Fields,
  scope: ConfigScope,
  envFile: string | undefined,
): Pick<StdioTarget, "command" | "args" | "env" | "ownEnv" | "cwd"> {
  const own = fields.table("env", config.env);
  const wrong = Object.keys(own).find((key) => /[=\0]/.test(key));
  if (wrong !== undefined) throw fields.error("env", "the name of a variable has no = and no NUL character");
  const ownEnv = { ...inheritedFrom(scope.env, config.inherits), ...readEnvFile(envFile), ...own };
  return {
    command: fields.text("command", config.command),
    args: config.args.map((arg, index) => fields.text(`args.${index}`, arg)),
    env: { ...inheritedFrom(scope.env, INHERITED), ...ownEnv },
    ownEnv,
    cwd: config.cwd === undefined ? undefined : resolve(scope.workspaceFolder, fields.text("cwd", config.cwd)),
  };
}

/** A value that begins with `()` is a function of a shell, which the SDK leaves out too. */
function inheritedFrom(env: ConfigScope["env"], names: readonly string[]): Readonly<Record<string, string>> {
  const found = names.flatMap((name) => {
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    return value === undefined || value.startsWith("()") ? [] : [[name, value] as const];
  });
  return Object.fromEntries(found);
}

function readEnvFile(text: string | undefined): Readonly<Record<string, string>> {
  if (text === undefined) return {};
  return Object.fromEntries(Object.entries(parseEnv(text)).map(([name, value]) => [name, value ?? ""]));
}

function resolveHttp(config: HttpConfig, fields: Fields, scope: ConfigScope): Pick<HttpTarget, "url" | "headers" | "oauth"> {
  const url = readUrl(fields.text("url", config.url));
  if (!url) throw fields.error("url", "it is no URL with http: or https:");
  if (url.username !== "" || url.password !== "") throw fields.error("url", "it holds a password: write it under headers");
  const fromEnv = Object.entries(config.headersFrom).map(([header, { variable, prefix }]) => {
    const value = Object.hasOwn(scope.env, variable) ? scope.env[variable] : undefined;
    if (value === undefined) throw fields.error(`headers.${header}`, `the variable ${variable} is not set`);
    return [header, `${prefix}${value}`] as const;
  });
  const headers = { ...fields.table("headers", config.headers), ...Object.fromEntries(fromEnv) };
  for (const [header, value] of Object.entries(headers))
    if (!isHeader(header, value)) throw fields.error("headers", `${JSON.stringify(header)} or its value is no HTTP header`);
  const hasHeader = Object.keys(headers).some((header) => header.toLowerCase() === "authorization");
  const oauth = hasHeader && config.oauth?.isAsked !== true ? undefined : config.oauth && resolveOAuth(config.oauth, fields);
  if (hasHeader && oauth)
    throw fields.error("auth", "OAuth sends a header Authorization, and another one is configured: remove one of them");
  return { url, headers, oauth };
}

function resolveOAuth(oauth: OAuthSettings, fields: Fields): OAuthSettings {
  const expanded = Object.entries(oauth).map(([field, value]: [string, unknown]) =>
    typeof value === "string" ? [field, fields.text(`auth.${field}`, value)] : [field, value],
  );
  return { isAsked: oauth.isAsked, ...(Object.fromEntries(expanded) as Partial<OAuthSettings>) };
}

function readUrl(text: string): URL | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url?.protocol === "http:" || url?.protocol === "https:" ? url : undefined;
}

function isHeader(name: string, value: string): boolean {
  try {
    return new Headers([[name, value]]).has(name);
  } catch {
    return false;
  }
}
