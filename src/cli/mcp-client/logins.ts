import { loadConfig } from "../../config/config.ts";
import type { LoginOptions } from "../../mcp/client/oauth/server-login.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { textOption } from "../command.ts";
import { clientLogins } from "../compose/server-logins.ts";

/** The logins of the person at this machine. */
export function loginsOf(call: CommandCall, { env }: CommandContext): LoginOptions {
  const { home } = loadConfig({ env, flags: { home: textOption(call, "home") } });
  return { folder: clientLogins(home), advice: loginAdvice };
}

export function loginAdvice(server: string): string {
  return `run \`belljar client login ${server}\``;
}
