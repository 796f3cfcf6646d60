import { LOCAL } from "../../sandbox/sandbox.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { openSecretVault } from "../compose/open-secret-vault.ts";
import { printLine } from "../print.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const secrets = await openSecretVault(call, context);
  for (const name of call.positionals) {
    await secrets.remove(LOCAL.id, name);
    printLine(context.stdout, name);
  }
  return 0;
}
