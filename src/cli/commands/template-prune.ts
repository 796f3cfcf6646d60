import { LOCAL } from "../../sandbox/sandbox.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet } from "../command.ts";
import { openStack } from "../compose/open-stack.ts";
import { formatBytes, printJson, printLine } from "../print.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  await using stack = await openStack(call, context);
  const pruned = await (await stack.templates()).prune(LOCAL);
  if (isSet(call, "json")) printJson(context.stdout, pruned);
  else printLine(context.stdout, `${pruned.steps} kept steps removed, which had written ${formatBytes(pruned.bytes)}`);
  return 0;
}
