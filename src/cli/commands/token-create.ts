import { ensureHome } from "../../config/private-directory.ts";
import { createTokenStore } from "../../gateway/auth/token-store.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet, textOptions } from "../command.ts";
import { readConfig } from "../compose/open-stack.ts";
import { expiryOption } from "../expiry-option.ts";
import { printJson, printLine } from "../print.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const { home } = readConfig(call, context);
  ensureHome(home);
  const [name = ""] = call.positionals;
  const made = await createTokenStore(home).create(name, textOptions(call, "scope"), { expiresAt: expiryOption(call) });
  if (isSet(call, "json")) {
    printJson(context.stdout, made);
    return 0;
  }
  printLine(context.stdout, made.token);
  printLine(context.stderr, `This is shown once. Take it back with \`belljar token revoke ${made.id}\`.`);
  return 0;
}
