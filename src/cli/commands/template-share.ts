import { LOCAL } from "../../sandbox/sandbox.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet } from "../command.ts";
import { openStack } from "../compose/open-stack.ts";
import { printJson } from "../print.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  await using stack = await openStack(call, context);
  const template = await (await stack.templates()).share(LOCAL, call.positionals[0] ?? "", !isSet(call, "off"));
  if (isSet(call, "json")) printJson(context.stdout, template);
  return 0;
}
