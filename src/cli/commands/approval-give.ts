import type { CommandCall, CommandContext } from "../command.ts";
import { openApprovals } from "../compose/open-approvals.ts";
import { printLine } from "../print.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const [id = ""] = call.positionals;
  const { shown, until } = await openApprovals(call, context).give(id);
  printLine(context.stdout, shown);
  printLine(context.stderr, `Approved once, until ${until.toISOString()}. Have the call made again.`);
  return 0;
}
