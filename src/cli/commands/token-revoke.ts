import { createTokenStore } from "../../gateway/auth/token-store.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { readConfig } from "../compose/open-stack.ts";
import { printLine } from "../print.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const tokens = createTokenStore(readConfig(call, context).home);
  for (const id of call.positionals) {
    await tokens.revoke(id);
    printLine(context.stdout, id);
  }
  return 0;
}
