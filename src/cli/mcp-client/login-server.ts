import { homedir } from "node:os";
import type { HttpTarget, ServerTarget } from "../../mcp/client/config/resolve-server.ts";
import { loadTarget } from "../../mcp/client/load-target.ts";
import type { OAuthSettings } from "../../mcp/client/oauth/auth-settings.ts";
import type { PlacedClientOptions, ReadConfig } from "../../mcp/client/open-mcp-client.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { readPackage } from "../compose/package-root.ts";
import { printLine } from "../print.ts";
import { usage } from "../usage.ts";
import { findConfig, serverOf } from "./find-config.ts";

/** A server that a person can log in to. */
export interface LoginTarget {
  readonly target: HttpTarget;
  readonly oauth: OAuthSettings;
}

export interface LoginServerEntry extends LoginTarget {
  readonly files: readonly ReadConfig[];
  readonly places: Pick<PlacedClientOptions, "env" | "workspaceFolder" | "userHome" | "version">;
}

/** The server of the file that a person logs in to. Rejects with `USAGE` for one that knows no logins. */
export async function findLoginServer(call: CommandCall, context: CommandContext, name: string): Promise<LoginServerEntry> {
  const files = await findConfig(call, context, name);
  const { file, config } = serverOf(files, name);
  const scope = { env: context.env, workspaceFolder: process.cwd(), userHome: homedir() };
  const target = await loadTarget(config, file, { ...scope, inputs: new Map() });
  const found = toLoginTarget(target, { where: file, help: "belljar client --help" });
  return { ...found, files, places: { ...scope, version: readPackage().version } };
}

/** Throws `USAGE` for a server that knows no logins. */
export function toLoginTarget(target: ServerTarget, { where, help }: { readonly where: string; readonly help: string }): LoginTarget {
  const { name } = target;
  if (target.kind === "stdio") throw usage(`The server "${name}" is a program: it is given what it needs under env`, help);
  if (!target.oauth) throw usage(`The headers of "${name}" say who calls, so nobody logs in: remove them from ${where}`, help);
  return { target, oauth: target.oauth };
}

export function printLogout(
  { stderr }: CommandContext,
  name: string,
  { isKnown, isRevoked }: { readonly isKnown: boolean; readonly isRevoked: boolean },
): void {
  const also = isRevoked ? ", and its authorization server has taken it back" : "; at its authorization server it may still count";
  printLine(stderr, isKnown ? `The login at "${name}" is forgotten${also}.` : `There was no login at "${name}".`);
}
