import type { CommandCall, CommandContext } from "../command.ts";
import { isSet } from "../command.ts";
import { openApprovals } from "../compose/open-approvals.ts";
import { printJson, printLine } from "../print.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const [id = ""] = call.positionals;
  const waiting = await openApprovals(call, context).get(id);
  if (isSet(call, "json")) printJson(context.stdout, waiting);
  else printLine(context.stdout, waiting.shown);
  return 0;
}
