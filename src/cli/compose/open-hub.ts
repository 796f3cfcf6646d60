import { homedir } from "node:os";
import { join } from "node:path";
import { openOnce } from "../../async/open-once.ts";
import { redactText } from "../../audit/redact.ts";
import { openJsonSchemas } from "../../catalog/json-schemas.ts";
import type { Config } from "../../config/config.ts";
import { ensureHome } from "../../config/private-directory.ts";
import type { OwnerGrants } from "../../dynamic/run/owner-rights.ts";
import { loadConfigText } from "../../mcp/client/config/load-config-text.ts";
import { Hub } from "../../mcp/proxy/hub.ts";
import { type HubScope, readHubFile } from "../../mcp/proxy/hub-file.ts";
import type { HubFile } from "../../mcp/proxy/hub-server.ts";
import type { HubEgress } from "../../mcp/proxy/server-way.ts";
import { FileApprovals } from "../../mcp/proxy/sources/file-approvals.ts";
import { NamedFile } from "../../mcp/proxy/sources/named-file.ts";
import { ownerPrincipal } from "../../mcp/proxy/sources/owner-principal.ts";
import { type Entries, ServedServers } from "../../mcp/proxy/sources/served-servers.ts";
import { ServerStore } from "../../mcp/proxy/sources/server-store.ts";
import { watchFile } from "../../mcp/proxy/sources/watched-file.ts";
import { storedFolders } from "../../mcp/proxy/sources/written-folders.ts";
import type { Workspace } from "../../runtime/contract/sandbox-spec.ts";
import type { LocalSandboxes } from "../../sandbox/local-sandboxes-options.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import { createServersSeal } from "../../secrets/seal-servers.ts";
import { homeWithKeyring } from "./home-with-keyring.ts";
import { lookOnHost } from "./look-on-host.ts";
import { serverLogins } from "./server-logins.ts";
import { serverParts, type ServerPartsOptions } from "./server-parts.ts";
import { isShownToWrite } from "./shown-to-write.ts";

export interface HubOptions extends ServerPartsOptions {
  readonly config: Pick<Config, "home" | "tools" | "secretsKey" | "mcp">;
  /** The file that the command line names. */
  readonly file: string | undefined;
  readonly sandboxes: Pick<LocalSandboxes, "create" | "hiddenSnapshots" | "list">;
  readonly shown: ShownParts;
  /** What the owners of servers may have now. */
  readonly owners: OwnerGrants;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** How requests to servers over HTTP leave this machine. */
  readonly egress: HubEgress;
  /** What an owner sent to a Belljar that served none of it. */
  readonly sent: (owner: string) => Promise<Entries>;
}

/** By which a program in a sandbox could write the file. */
export interface ShownParts {
  /** Of the configuration. */
  readonly workspace: Workspace | undefined;
  /** Ids of the owners with tokens. */
  readonly owners: () => Promise<readonly string[]>;
}

/** The servers behind this process, and their tools. */
export interface OpenedHub {
  /** Disposing it ends the servers, and closes what is beside it. */
  readonly hub: Hub;
  readonly servers: ServedServers;
}

const NONE: HubFile = { servers: [], unusable: [] };

/** Begins to start the local user's servers. Rejects with `CONFIG_INVALID` for a file that cannot be read. */
export async function openHub({ file, shown, owners, env, egress, sent, ...options }: HubOptions): Promise<OpenedHub> {
  const { config, sandboxes, report } = options;
  const scope: HubScope = { env, workspaceFolder: process.cwd(), userHome: homedir(), inputs: new Map(), lookOnHost };
  const load = async (): Promise<HubFile> => (file === undefined ? NONE : readHubFile(await loadConfigText(file), file, scope));
  const content = await load();
  const redact = redactText;
  ensureHome(config.home);
  const hub = new Hub(NONE, {
    ...config.mcp,
    ...serverParts(options),
    logins: serverLogins(config),
    egress,
    schemas: openOnce(() => openJsonSchemas()),
    pins: pinsFolder(config),
    principalOf: ownerPrincipal(owners),
    redact,
    report,
  });
  const store = openServerStore(config);
  const isShown = async (own: readonly string[]): Promise<boolean> => {
    const { workspace } = shown;
    const ids = await shown.owners();
    const stored = await storedFolders([LOCAL.id, ...ids], { store, scope });
    const folders = [...own, ...stored, ...hub.writtenFolders(), ...(workspace?.mode === "rw" ? [workspace.path] : [])];
    return isShownToWrite(file ?? "", { folders, sandboxes, owners: ids });
  };
  const approvals = new FileApprovals(fileApprovalsFolder(config), file ?? "");
  const named = file === undefined ? undefined : new NamedFile({ name: file, approvals, isShown, redact });
  await named?.take(content);
  const servers = await ServedServers.open({ hub, store, scope, file: named, sent, report });
  const changed = (next: HubFile): Promise<void> => servers.setFile(next);
  if (file !== undefined) hub.own(await watchFile({ file, load, changed, report }));
  return { hub, servers };
}

/** The servers that owners have added to this home. */
export function openServerStore(config: Pick<Config, "home" | "secretsKey">): ServerStore {
  return new ServerStore(createServersSeal(homeWithKeyring(config)));
}

/** Where the definitions of servers are kept as they were approved. */
export function pinsFolder({ home }: Pick<Config, "home">): string {
  return join(home, "servers", "pins");
}

/** Where it is kept what was approved of files that command lines name. */
export function fileApprovalsFolder({ home }: Pick<Config, "home">): string {
  return join(home, "servers", "files");
}
