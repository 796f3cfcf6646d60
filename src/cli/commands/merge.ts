import { toInsidePaths } from "../inside-paths.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { openStack } from "../compose/open-stack.ts";
import { printChangedPaths } from "../print-changed-paths.ts";
import { withProgress } from "../progress.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const [id = "", fromId = "", ...paths] = call.positionals;
  await using stack = await openStack(call, context);
  const sandbox = await stack.sandboxes.get(LOCAL, id);
  const from = await stack.sandboxes.get(LOCAL, fromId);
  const chosen = paths.length === 0 ? undefined : toInsidePaths(from, paths);
  const merged = sandbox.timeLine.merge(from, chosen, context.signal);
  return printChangedPaths(call, context, await withProgress(context.stderr, "Merging", merged));
}
