import { LOCAL } from "../../sandbox/sandbox.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet } from "../command.ts";
import { openSecretVault } from "../compose/open-secret-vault.ts";
import { formatWhen, printJson, printLine, printTable } from "../print.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const secrets = await (await openSecretVault(call, context)).list(LOCAL.id);
  if (isSet(call, "json")) printJson(context.stdout, secrets);
  else if (secrets.length === 0) printLine(context.stderr, "No secrets. `belljar secret set NAME` stores one.");
  else {
    const rows = secrets.map(({ name, changedAt }) => [name, formatWhen(changedAt)]);
    printTable(context.stdout, rows, ["NAME", "CHANGED"]);
  }
  return 0;
}
