import { LOCAL } from "../../sandbox/sandbox.ts";
import { diffWorkspace } from "../../sandbox/workspace/workspace-diff.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet } from "../command.ts";
import { assertSameMachine, openStack, openTexts } from "../compose/open-stack.ts";
import { renderDiff, toDiffReport } from "../../sandbox/workspace/render-diff.ts";
import { printJson, printLine } from "../print.ts";
import { withProgress } from "../progress.ts";
import { findTarget } from "../workspace-target.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  await using stack = await openStack(call, context);
  assertSameMachine(stack.config);
  using texts = openTexts();
  const { id, paths } = await findTarget(call, stack.sandboxes, process.cwd());
  const sandbox = await stack.sandboxes.get(LOCAL, id);
  const options = { home: stack.config.home, texts, paths, ignored: isSet(call, "ignored"), signal: context.signal };
  const diff = await withProgress(context.stderr, "Comparing", diffWorkspace(sandbox, options));
  if (isSet(call, "json")) printJson(context.stdout, toDiffReport(diff));
  else if (isSet(call, "name-only")) for (const { path } of diff.changes) printLine(context.stdout, path);
  else context.stdout.write(renderDiff(diff));
  return 0;
}
