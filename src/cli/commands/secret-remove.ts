import { LOCAL } from "../../sandbox/sandbox.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { openSecrets } from "../open-secrets.ts";
import { printLine } from "../print.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const secrets = await openSecrets(call, context);
  for (const name of call.positionals) {
    await secrets.remove(LOCAL.id, name);
    printLine(context.stdout, name);
  }
  return 0;
}
