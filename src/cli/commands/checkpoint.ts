import { LOCAL } from "../../sandbox/sandbox.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet, textOption } from "../command.ts";
import { openStack } from "../compose/open-stack.ts";
import { withoutUndefined } from "../limit-options.ts";
import { printJson, printLine } from "../print.ts";
import { withProgress } from "../progress.ts";
import { usage } from "../usage.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const [id = "", named] = call.positionals;
  if (isSet(call, "remove") !== (named !== undefined))
    throw usage("--remove and a CHECKPOINT are given together, to remove it", "belljar checkpoint --help");
  await using stack = await openStack(call, context);
  const { timeLine } = await stack.sandboxes.get(LOCAL, id);
  if (named !== undefined) {
    await timeLine.remove(named);
    if (isSet(call, "json")) printJson(context.stdout, { removed: named });
    else printLine(context.stdout, named);
    return 0;
  }
  const taken = timeLine.checkpoint(withoutUndefined({ label: textOption(call, "label") }), context.signal);
  const checkpoint = await withProgress(context.stderr, "Taking a checkpoint", taken);
  if (isSet(call, "json")) printJson(context.stdout, checkpoint);
  else printLine(context.stdout, checkpoint.id);
  return 0;
}
