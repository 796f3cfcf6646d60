import { homedir } from "node:os";
import { openOnce } from "../../async/open-once.ts";
import { openJsonSchemas } from "../../catalog/json-schemas.ts";
import { loadConfigText } from "../../mcp/client/config/load-config-text.ts";
import { Hub } from "../../mcp/proxy/hub.ts";
import { readHubFile } from "../../mcp/proxy/hub-file.ts";
import { lookOnHost } from "./look-on-host.ts";
import { serverParts, type ServerPartsOptions } from "./server-parts.ts";

export interface HubOptions extends ServerPartsOptions {
  /** The file that the command line names. */
  readonly file: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Begins to start the servers of a configuration. Rejects with `CONFIG_INVALID` for one that cannot be read. Disposing it ends them. */
export async function openHub({ file, env, ...options }: HubOptions): Promise<Hub> {
  const text = await loadConfigText(file);
  const scope = { env, workspaceFolder: process.cwd(), userHome: homedir(), inputs: new Map(), lookOnHost };
  const schemas = openOnce(() => openJsonSchemas());
  const { report } = options;
  return new Hub(await readHubFile(text, file, scope), { ...options.config.mcp, ...serverParts(options), schemas, report });
}
