import { createTokenStore } from "../../gateway/auth/token-store.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet } from "../command.ts";
import { readConfig } from "../compose/open-stack.ts";
import { formatWhen, printJson, printTable } from "../print.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const tokens = await createTokenStore(readConfig(call, context).home).list();
  if (isSet(call, "json")) printJson(context.stdout, tokens);
  else if (tokens.length > 0) {
    const rows = tokens.map(({ id, name, scopes, createdAt, expiresAt }) => [
      id,
      name,
      formatWhen(createdAt),
      expiresAt ? (expiresAt.getTime() > Date.now() ? formatWhen(expiresAt) : "expired") : "never",
      scopes.join(" ") || "everything",
    ]);
    printTable(context.stdout, rows, ["ID", "NAME", "MADE", "EXPIRES", "SCOPES"]);
  }
  return 0;
}
