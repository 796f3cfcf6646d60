import { createInterface } from "node:readline/promises";
import { LOCAL } from "../../sandbox/sandbox.ts";
import type { ApplyResult } from "../../sandbox/workspace/apply-workspace.ts";
import { applyWorkspace } from "../../sandbox/workspace/apply-workspace.ts";
import type { WorkspaceDiff } from "../../sandbox/workspace/workspace-change.ts";
import { diffWorkspace } from "../../sandbox/workspace/workspace-diff.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet } from "../command.ts";
import { assertSameMachine, openStack, openTexts } from "../compose/open-stack.ts";
import { usage } from "../usage.ts";
import { renderDiff, toDiffReport } from "../../sandbox/workspace/render-diff.ts";
import { printJson, printLine } from "../print.ts";
import { printable } from "../../files/printable.ts";
import { withProgress } from "../progress.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const isSure = isSet(call, "yes");
  if (!isSure && !context.stdin.isTTY)
    throw usage("stdin is no terminal, so the question cannot be asked: use --yes to write the changes", "belljar sandbox apply --help");
  await using stack = await openStack(call, context);
  assertSameMachine(stack.config);
  using texts = openTexts();
  const sandbox = await stack.sandboxes.get(LOCAL, call.positionals[0] ?? "");
  const diff = await withProgress(context.stderr, "Comparing", diffWorkspace(sandbox, { texts, signal: context.signal }));
  show(call, context, diff);
  if (diff.changes.length === 0) return 0;
  if (!isSure && !(await confirm(context, diff))) return 1;
  const result = await withProgress(context.stderr, "Writing", applyWorkspace(sandbox, diff, context.signal));
  report(context, diff, result);
  return 0;
}

function show(call: CommandCall, { stdout, stderr }: CommandContext, diff: WorkspaceDiff): void {
  if (isSet(call, "json")) printJson(stdout, toDiffReport(diff));
  else if (diff.changes.length === 0) printLine(stderr, "Nothing has changed.");
  stdout.write(isSet(call, "json") ? "" : renderDiff(diff));
}

async function confirm({ stdin, stderr, signal }: CommandContext, { changes, hostPath }: WorkspaceDiff): Promise<boolean> {
  const lines = createInterface({ input: stdin, output: stderr });
  try {
    const answer = await lines.question(`Write ${changes.length} change(s) to ${hostPath}? [y/N] `, { signal });
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    lines.close();
  }
}

function report(
  { stderr }: CommandContext,
  { hostPath }: WorkspaceDiff,
  { written, removed, outsideLinks, gitPrograms }: ApplyResult,
): void {
  printLine(stderr, `${hostPath}: ${written} written, ${removed} removed`);
  for (const { path, target } of outsideLinks)
    printLine(stderr, `Note: the link ${printable(path)} leads out of the workspace, to ${printable(target)}`);
  for (const path of gitPrograms)
    printLine(stderr, `Note: git may run commands from ${printable(path)}: check it before you use git in that folder`);
}
