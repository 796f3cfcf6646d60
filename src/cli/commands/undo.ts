import { toInsidePaths } from "../inside-paths.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { openStack } from "../compose/open-stack.ts";
import { printChangedPaths } from "../print-changed-paths.ts";
import { withProgress } from "../progress.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const [id = "", point = "", ...paths] = call.positionals;
  await using stack = await openStack(call, context);
  const sandbox = await stack.sandboxes.get(LOCAL, id);
  const undone = sandbox.timeLine.undo(point, toInsidePaths(sandbox, paths), context.signal);
  return printChangedPaths(call, context, await withProgress(context.stderr, "Putting back", undone));
}
