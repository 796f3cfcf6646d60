import { realpath } from "node:fs/promises";
import { createInterface } from "node:readline/promises";
import { BelljarError } from "../../errors.ts";
import type { Sandbox, Sandboxes } from "../../sandbox/sandbox.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import type { ApplyResult } from "../../sandbox/workspace/apply-workspace.ts";
import { applyWorkspace } from "../../sandbox/workspace/apply-workspace.ts";
import { findAppliedFolder, undoApply } from "../../sandbox/workspace/apply/undo-apply.ts";
import { chooseChanges } from "../../sandbox/workspace/choose-changes.ts";
import { fetchCommits } from "../../sandbox/workspace/git-commits.ts";
import type { WorkspaceDiff } from "../../sandbox/workspace/workspace-change.ts";
import { diffWorkspace } from "../../sandbox/workspace/workspace-diff.ts";
import type { Texts } from "../../text/texts.ts";
import { askChoices } from "../ask-choices.ts";
import { coloursFor } from "../colours.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet, textOption } from "../command.ts";
import type { Stack } from "../compose/open-stack.ts";
import { assertSameMachine, openStack, openTexts } from "../compose/open-stack.ts";
import { usage } from "../usage.ts";
import { renderDiff, renderNotes, toDiffReport } from "../diff-view/render-diff.ts";
import { viewOf } from "../diff-view/view-of.ts";
import { showPaged } from "../pager.ts";
import { printJson, printLine } from "../print.ts";
import { printable } from "../../files/printable.ts";
import { withProgress } from "../progress.ts";
import { startedSandbox } from "../started-sandbox.ts";
import { findTarget } from "../workspace-target.ts";

const HELP = "belljar sandbox apply --help";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const prefer = preferred(call);
  const picks = isSet(call, "patch");
  if (picks) assertMayPick(call, context);
  const isSure = isSet(call, "yes");
  if (!isSure && !isSet(call, "undo") && !context.stdin.isTTY)
    throw usage("stdin is no terminal, so the question cannot be asked: use --yes to write the changes", HELP);
  await using stack = await openStack(call, context);
  assertSameMachine(stack.config);
  if (isSet(call, "undo")) return undo(call, context, stack);
  const { id, paths } = await findTarget(call, stack.sandboxes, process.cwd());
  using texts = openTexts();
  const sandbox = await startedSandbox(stack, id, context);
  const { home } = stack.config;
  const options = { home, texts, paths, prefer, ignored: isSet(call, "ignored"), signal: context.signal };
  const found = await withProgress(context.stderr, "Comparing", diffWorkspace(sandbox, options));
  const diff = picks ? await pick(call, context, { sandbox, texts, diff: found }) : found;
  if (!picks) await show(call, context, diff);
  const exitCode = diff.conflicts.length === 0 ? 0 : 1;
  if (diff.changes.length + diff.settled.length + diff.commits === 0) {
    adviseOnConflicts(context, diff);
    return exitCode;
  }
  if (!isSure && !picks && !(await confirm(context, diff))) {
    printLine(context.stderr, "Nothing was written.");
    return 1;
  }
  const result = await withProgress(context.stderr, "Writing", applyWorkspace(sandbox, diff, { home, signal: context.signal }));
  report(context, diff, result);
  if (diff.commits > 0) await bringCommits(context, sandbox, diff);
  return exitCode;
}

function preferred(call: CommandCall): "theirs" | "ours" | undefined {
  const [theirs, ours, undoes] = [isSet(call, "theirs"), isSet(call, "ours"), isSet(call, "undo")];
  if (theirs && ours) throw usage("--theirs and --ours exclude each other", HELP);
  if (undoes && (theirs || ours || call.positionals.length > (call.spec.name === "apply" ? 0 : 1)))
    throw usage("--undo undoes the whole last apply: it takes neither paths nor --theirs or --ours", HELP);
  if (theirs) return "theirs";
  return ours ? "ours" : undefined;
}

function assertMayPick(call: CommandCall, { stdin, stdout }: CommandContext): void {
  if (!stdin.isTTY || !stdout.isTTY) throw usage("--patch asks at a terminal, and this is none: name paths", HELP);
  const other = ["yes", "undo", "json"].find((name) => isSet(call, name));
  if (other !== undefined) throw usage(`--patch and --${other} exclude each other`, HELP);
}

interface Picking {
  readonly sandbox: Sandbox;
  readonly texts: Texts;
  readonly diff: WorkspaceDiff;
}

/** What the person chooses of a diff. Commits are no part of it: they come whole, when nobody chooses. */
async function pick(call: CommandCall, context: CommandContext, { sandbox, texts, diff }: Picking): Promise<WorkspaceDiff> {
  const { stdout, stderr, signal } = context;
  const view = viewOf(context, isSet(call, "unified"));
  stdout.write(renderNotes(diff, view));
  if (diff.changes.length === 0) printLine(stderr, "There is nothing to choose.");
  const choices = await askChoices(context, diff.changes, view);
  return { ...(await chooseChanges({ sandbox, texts, signal }, diff, choices)), commits: 0 };
}

/** An ended sandbox's apply can be undone too. Without a sandbox it is the last one to the folder in which the person is. */
async function undo(call: CommandCall, { stderr }: CommandContext, { config, sandboxes }: Stack): Promise<number> {
  const named = call.spec.name === "apply" ? textOption(call, "sandbox") : call.positionals[0];
  const { path, id } = named === undefined ? await appliedHere(config.home) : await workspaceOf(sandboxes, named);
  const { hostPath, sandboxId, undone } = await undoApply(path, config.home, id);
  printLine(stderr, `${hostPath}: undid ${undone} change(s) of sandbox ${sandboxId}`);
  return 0;
}

interface Undoable {
  readonly path: string;
  readonly id?: string;
}

async function appliedHere(home: string): Promise<Undoable> {
  return { path: await findAppliedFolder(await realpath(process.cwd()), home) };
}

async function workspaceOf(sandboxes: Sandboxes, named: string): Promise<Undoable> {
  const { id, workspace } = await sandboxes.info(LOCAL, named);
  if (!workspace) throw new BelljarError("WORKSPACE_INVALID", `Sandbox ${named} has no workspace`);
  return { path: workspace.path, id };
}

async function bringCommits({ stderr, signal }: CommandContext, sandbox: Sandbox, { hostPath }: WorkspaceDiff): Promise<void> {
  const fetched = await withProgress(stderr, "Fetching commits", fetchCommits({ sandbox, hostPath, signal }));
  if (fetched) printLine(stderr, `${fetched.commits} commit(s) on the branch ${fetched.branch}: look at them, then merge them`);
  else printLine(stderr, "The commits made inside cannot be fetched: git inside failed, or they are more than 256 MiB");
}

/** Through the pager only if a question follows: `--yes` waits for nobody. */
async function show(call: CommandCall, context: CommandContext, diff: WorkspaceDiff): Promise<void> {
  const { stdout, stderr } = context;
  const isEmpty = diff.changes.length + diff.conflicts.length + diff.held.length + diff.settled.length + diff.commits === 0;
  if (isSet(call, "json")) return printJson(stdout, toDiffReport(diff));
  if (isEmpty) printLine(stderr, "Nothing has changed.");
  const text = renderDiff(diff, viewOf(context, isSet(call, "unified")));
  if (isSet(call, "yes")) stdout.write(text);
  else await showPaged(context, text);
}

async function confirm(
  { stdin, stderr, signal }: CommandContext,
  { changes, conflicts, settled, commits, hostPath }: WorkspaceDiff,
): Promise<boolean> {
  const left = conflicts.length > 0 ? `, and leave ${conflicts.length} conflict(s) alone` : "";
  const brought = commits > 0 ? `, and fetch ${commits} commit(s)` : "";
  const kept = settled.length > 0 ? `, and keep your side of ${settled.length} conflict(s)` : "";
  const lines = createInterface({ input: stdin, output: stderr });
  try {
    const answer = await lines.question(`Write ${changes.length} change(s) to ${hostPath}${left}${kept}${brought}? [y/N] `, { signal });
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    lines.close();
  }
}

function report(context: CommandContext, diff: WorkspaceDiff, { written, removed, outsideLinks }: ApplyResult): void {
  const { stderr, env } = context;
  const { red } = coloursFor(stderr, env);
  const { hostPath, conflicts, held } = diff;
  printLine(stderr, `${hostPath}: ${written} written, ${removed} removed. To undo it: belljar sandbox apply --undo ${diff.sandboxId}`);
  for (const { path, target } of outsideLinks)
    printLine(stderr, `Note: the link ${printable(path)} leads out of the workspace, to ${printable(target)}`);
  for (const { change, reason } of held)
    printLine(stderr, `Left out: ${printable(change.path)}, ${reason}. Look at it, and name it to write it`);
  for (const { change, reason } of conflicts) stderr.write(`${red(`Conflict: ${printable(change.path)}, ${reason}`)}\n`);
  adviseOnConflicts(context, diff);
}

function adviseOnConflicts({ stderr }: CommandContext, { conflicts }: WorkspaceDiff): void {
  if (conflicts.length === 0) return;
  const advice = "Conflicts are left alone: --theirs writes the sandbox's side of them, --ours keeps yours; name paths for some of them";
  printLine(stderr, advice);
}
