import { homedir } from "node:os";
import type { HttpTarget } from "../../mcp/client/config/resolve-server.ts";
import { loadTarget } from "../../mcp/client/load-target.ts";
import type { McpClientOptions } from "../../mcp/client/mcp-client.ts";
import type { OAuthSettings } from "../../mcp/client/oauth/auth-settings.ts";
import { readMcpConfig } from "../../mcp/client/open-mcp-client.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { readPackage } from "../compose/package-root.ts";
import { usage } from "../usage.ts";
import { checkServerName, configOf } from "./open-client.ts";

export interface LoginServerEntry {
  readonly target: HttpTarget;
  readonly oauth: OAuthSettings;
  readonly places: Pick<McpClientOptions, "config" | "env" | "workspaceFolder" | "userHome" | "version">;
}

/** The server of the file that a person logs in to. Rejects with `USAGE` for one that knows no logins. */
export async function findLoginServer(call: CommandCall, context: CommandContext, name: string): Promise<LoginServerEntry> {
  const source = configOf(call, context);
  await checkServerName(source, call, name);
  const { file, config } = await readMcpConfig(source);
  const found = config.servers.find((server) => server.name === name);
  if (!found?.config) throw found?.problem ?? usage(`There is no server "${name}"`, `belljar ${call.spec.name} --help`);
  const scope = { env: context.env, workspaceFolder: process.cwd(), userHome: homedir() };
  const target = await loadTarget(found.config, file, { ...scope, inputs: new Map() });
  if (target.kind === "stdio")
    throw usage(`The server "${name}" is a program: it is given what it needs under env`, "belljar client --help");
  if (!target.oauth)
    throw usage(`The headers of "${name}" say who calls, so nobody logs in: remove them from ${file}`, "belljar client --help");
  return { target, oauth: target.oauth, places: { ...scope, config: source, version: readPackage().version } };
}
