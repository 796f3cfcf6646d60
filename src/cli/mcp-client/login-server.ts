import { homedir } from "node:os";
import type { HttpTarget } from "../../mcp/client/config/resolve-server.ts";
import { loadTarget } from "../../mcp/client/load-target.ts";
import type { OAuthSettings } from "../../mcp/client/oauth/auth-settings.ts";
import type { PlacedClientOptions, ReadConfig } from "../../mcp/client/open-mcp-client.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { readPackage } from "../compose/package-root.ts";
import { usage } from "../usage.ts";
import { findConfig, serverOf } from "./find-config.ts";

export interface LoginServerEntry {
  readonly target: HttpTarget;
  readonly oauth: OAuthSettings;
  readonly files: readonly ReadConfig[];
  readonly places: Pick<PlacedClientOptions, "env" | "workspaceFolder" | "userHome" | "version">;
}

/** The server of the file that a person logs in to. Rejects with `USAGE` for one that knows no logins. */
export async function findLoginServer(call: CommandCall, context: CommandContext, name: string): Promise<LoginServerEntry> {
  const files = await findConfig(call, context, name);
  const { file, config } = serverOf(files, name);
  const scope = { env: context.env, workspaceFolder: process.cwd(), userHome: homedir() };
  const target = await loadTarget(config, file, { ...scope, inputs: new Map() });
  if (target.kind === "stdio")
    throw usage(`The server "${name}" is a program: it is given what it needs under env`, "belljar client --help");
  if (!target.oauth)
    throw usage(`The headers of "${name}" say who calls, so nobody logs in: remove them from ${file}`, "belljar client --help");
  return { target, oauth: target.oauth, files, places: { ...scope, version: readPackage().version } };
}
