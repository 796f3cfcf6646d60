import { assertSecretName, VALUE_MAX_BYTES } from "../../secrets/secret-rules.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { openSecretVault } from "../compose/open-secret-vault.ts";
import { printLine } from "../print.ts";
import { readHidden } from "../read-hidden.ts";
import { usage } from "../usage.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const [name = "", ...more] = call.positionals;
  if (more.length > 0)
    throw usage("A value is never an argument, which others on this machine can see: give it on stdin", "belljar secret set --help");
  assertSecretName(name);
  const value = await readHidden(context, `Value of ${name} (not shown): `, VALUE_MAX_BYTES);
  const secrets = await openSecretVault(call, context);
  await secrets.set(LOCAL.id, name, value);
  printLine(context.stdout, name);
  return 0;
}
