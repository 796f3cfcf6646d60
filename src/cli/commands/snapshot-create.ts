import { LOCAL } from "../../sandbox/sandbox.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet, textOption } from "../command.ts";
import { openStack } from "../compose/open-stack.ts";
import { withoutUndefined } from "../limit-options.ts";
import { printJson, printLine } from "../print.ts";
import { withProgress } from "../progress.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const options = withoutUndefined({
    name: textOption(call, "name"),
    description: textOption(call, "description"),
    ...(isSet(call, "whole") && { whole: true }),
  });
  await using stack = await openStack(call, context);
  const { id } = await stack.sandboxes.get(LOCAL, call.positionals[0] ?? "");
  const made = stack.sandboxes.snapshots.create(LOCAL, id, options, context.signal);
  const snapshot = await withProgress(context.stderr, "Taking a snapshot", made);
  if (isSet(call, "json")) printJson(context.stdout, snapshot);
  else printLine(context.stdout, snapshot.id);
  return 0;
}
