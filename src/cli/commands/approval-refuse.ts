import type { CommandCall, CommandContext } from "../command.ts";
import { openApprovals } from "../compose/open-approvals.ts";
import { printLine } from "../print.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const [id = ""] = call.positionals;
  await openApprovals(call, context).refuse(id);
  printLine(context.stdout, id);
  return 0;
}
