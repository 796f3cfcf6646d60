import { toInsidePaths } from "../inside-paths.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import { lastCheckpoint } from "../../sandbox/state/last-checkpoint.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet, textOptions } from "../command.ts";
import { openStack } from "../compose/open-stack.ts";
import { renderPointDiff } from "../diff-view/render-point-diff.ts";
import { viewOf } from "../diff-view/view-of.ts";
import { showPaged } from "../pager.ts";
import { printJson, printLine } from "../print.ts";
import { withProgress } from "../progress.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const [id = "", named, to] = call.positionals;
  await using stack = await openStack(call, context);
  const sandbox = await stack.sandboxes.get(LOCAL, id);
  const from = named ?? (await lastCheckpoint(sandbox));
  const paths = toInsidePaths(sandbox, textOptions(call, "path"));
  const points = { from, ...(to !== undefined && { to }), ...(paths.length > 0 && { paths: [...paths] }) };
  const diff = await withProgress(context.stderr, "Comparing", sandbox.timeLine.diff(points, context.signal));
  if (isSet(call, "json")) printJson(context.stdout, { from, ...(to !== undefined && { to }), ...diff });
  else if (isSet(call, "name-only")) for (const { path } of diff.changes) printLine(context.stdout, path);
  else await showPaged(context, renderPointDiff(diff, viewOf(context, isSet(call, "unified"))));
  if (diff.changes.length === 0 && !isSet(call, "json")) printLine(context.stderr, "Nothing has changed.");
  if (diff.omitted > 0 && isSet(call, "name-only")) printLine(context.stderr, `${diff.omitted} more are not shown: name some with --path.`);
  return 0;
}
