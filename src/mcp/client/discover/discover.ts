import { BelljarError } from "../../../errors.ts";
import { readSettingsText } from "../../../files/read-settings-text.ts";
import { parseSettings } from "../config/parse-settings.ts";
import { readServers } from "../config/read-config.ts";
import type { ConfiguredServer, ServerConfig } from "../config/server-config.ts";
import { hostFiles } from "./host-files.ts";
import type { HostFile, HostPlaces, HostTable } from "./host-files.ts";

/** A server that a host's file names. It holds names of variables and headers, and none of their values. */
export interface DiscoveredServer {
  readonly host: string;
  readonly file: string;
  readonly scope: "user" | "project";
  /** The folder of the project that alone has it, if a file of the person says so. */
  readonly project: string | null;
  readonly name: string;
  /** Null for an entry that cannot be used. */
  readonly transport: "stdio" | "http" | "sse" | null;
  /** The program without its arguments, or the origin of the URL: both others may hold keys. */
  readonly target: string | null;
  readonly is_disabled: boolean;
  readonly env: readonly string[];
  readonly headers: readonly string[];
  readonly problem: string | null;
}

export interface Discovery {
  readonly servers: readonly DiscoveredServer[];
  /** Files that could not be read. */
  readonly problems: readonly { readonly host: string; readonly file: string; readonly problem: string }[];
}

/** Lists the servers in the files of all hosts. It starts nothing, and expands no variable. */
export async function discoverServers(places: HostPlaces): Promise<Discovery> {
  const found = await Promise.all(hostFiles(places).map(readHostFile));
  return { servers: found.flatMap(({ servers }) => servers), problems: found.flatMap(({ problems }) => problems) };
}

async function readHostFile(file: HostFile): Promise<Discovery> {
  try {
    const text = await readSettingsText(file.path);
    return { servers: text === undefined || text.trim() === "" ? [] : serversOf(text, file), problems: [] };
  } catch (cause) {
    if (!(cause instanceof BelljarError)) throw cause;
    const problem = cause.message.startsWith(file.path) ? cause.message : `${file.path}: ${cause.message}`;
    return { servers: [], problems: [{ host: file.host, file: file.path, problem }] };
  }
}

function serversOf(text: string, file: HostFile): readonly DiscoveredServer[] {
  const settings = parseSettings(text, file.path, file.format);
  return file
    .tables(settings)
    .flatMap((table) => readServers(settings, file.path, table).map((server) => toDiscovered(server, file, table)));
}

function toDiscovered(server: ConfiguredServer, { host, path, scope }: HostFile, table: HostTable): DiscoveredServer {
  const { name, config, problem } = server;
  const isDisabled = config?.isDisabled === true || table.disabled?.includes(name) === true;
  return {
    host,
    file: path,
    scope,
    project: table.project ?? null,
    name,
    ...(config ? shownOf(config) : { transport: null, target: null, env: [], headers: [] }),
    is_disabled: isDisabled,
    problem: problem?.message ?? null,
  };
}

function shownOf(config: ServerConfig): Pick<DiscoveredServer, "transport" | "target" | "env" | "headers"> {
  if (config.kind === "stdio") return { transport: "stdio", target: config.command, env: Object.keys(config.env), headers: [] };
  const transport = config.kind === "any" ? "http" : config.kind;
  const headers = [...Object.keys(config.headers), ...Object.keys(config.headersFrom)];
  return { transport, target: originOf(config.url), env: [], headers };
}

/** Null for a URL with a variable in its host. */
function originOf(url: string): string | null {
  const origin = URL.canParse(url) ? new URL(url).origin : "null";
  return origin === "null" || origin.includes("${") ? null : origin;
}
