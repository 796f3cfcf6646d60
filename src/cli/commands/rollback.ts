import { LOCAL } from "../../sandbox/sandbox.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { openStack } from "../compose/open-stack.ts";
import { printRollback } from "../print-rollback.ts";
import { withProgress } from "../progress.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const [id = "", point = ""] = call.positionals;
  await using stack = await openStack(call, context);
  const { timeLine } = await stack.sandboxes.get(LOCAL, id);
  printRollback(call, context, await withProgress(context.stderr, "Rolling back", timeLine.rollback(point, context.signal)));
  return 0;
}
