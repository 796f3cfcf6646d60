import { BelljarError } from "../../errors.ts";
import type { ConfigScope } from "../client/config/expand.ts";
import { isRecord } from "../client/config/is-record.ts";
import { parseSettings } from "../client/config/parse-settings.ts";
import { readConfigText } from "../client/config/read-config.ts";
import type { ConfiguredServer } from "../client/config/server-config.ts";
import type { HubFile, HubServer, UnusableServer } from "./hub-server.ts";
import { assertHasEffect, readHubSettings, withReach } from "./hub-settings.ts";
import { loadTarget } from "../client/load-target.ts";
import { assertShown, type LookOnHost } from "./assert-shown.ts";
import { withImage } from "./prepare/docker-launch.ts";
import { assertStartable } from "./prepare/open-server-sandbox.ts";

export interface HubScope extends ConfigScope {
  readonly lookOnHost: LookOnHost;
}

/** The tables of `mcpServers` in the files of hosts; the hub's own fields stand beside theirs. */
const TABLES = ["mcpServers", "servers", "mcp_servers"];

/**
 * Reads a configuration that a person named. A server that is disabled is left out. An entry that cannot be used spoils no other. Throws
 * `CONFIG_INVALID` for a file that cannot be read.
 */
export async function readHubFile(text: string, file: string, scope: HubScope): Promise<HubFile> {
  const entryOf = entriesOf(text, file);
  const servers: HubServer[] = [];
  const unusable: UnusableServer[] = [];
  for (const server of readConfigText(text, file).servers) {
    try {
      const found = await readHubServer(server, entryOf(server.name), { file, scope });
      if (found) servers.push({ ...found, file });
    } catch (problem) {
      if (!(problem instanceof BelljarError)) throw problem;
      unusable.push({ name: server.name, problem });
    }
  }
  return { servers, unusable };
}

/** What a host's file says of its servers, as it stands there. */
export interface HubEntries {
  readonly entries: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly unusable: readonly UnusableServer[];
}

/** Throws `CONFIG_INVALID` for a file that cannot be read. */
export function readHubEntries(text: string, file: string): HubEntries {
  const entryOf = entriesOf(text, file);
  const found = readConfigText(text, file).servers;
  return {
    entries: Object.fromEntries(
      found.flatMap(({ name, problem }) => {
        const entry = entryOf(name);
        return problem === undefined && isRecord(entry) ? [[name, entry] as const] : [];
      }),
    ),
    unusable: found.flatMap(({ name, problem }) => (problem ? [{ name, problem }] : [])),
  };
}

function entriesOf(text: string, file: string): (name: string) => unknown {
  const { value } = parseSettings(text, file, file.endsWith(".toml") ? "toml" : "jsonc");
  const tables = TABLES.map((key) => value[key] as Readonly<Record<string, unknown>> | undefined);
  return (name) => tables.find((table) => table !== undefined && Object.hasOwn(table, name))?.[name];
}

/** Reads one entry. Undefined for a server that is disabled. Rejects with `CONFIG_INVALID`. */
export async function readHubServer(
  { name, config, problem }: ConfiguredServer,
  entry: unknown,
  { file, scope }: { readonly file: string; readonly scope: HubScope },
): Promise<HubServer | undefined> {
  if (problem) throw problem;
  if (config.isDisabled) return undefined;
  const settings = withReach(readHubSettings(entry, { file, name }), config, entry);
  assertHasEffect(config, settings, entry, { file, name });
  const server = withImage({ name, target: await loadTarget(config, file, scope), settings });
  assertShown(server, scope.lookOnHost);
  assertStartable(server);
  return server;
}
