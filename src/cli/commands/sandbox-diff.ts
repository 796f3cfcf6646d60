import type { Sandbox } from "../../sandbox/sandbox.ts";
import { makeGitPatch } from "../../sandbox/workspace/patch/make-git-patch.ts";
import type { WorkspaceDiff } from "../../sandbox/workspace/workspace-change.ts";
import { diffWorkspace } from "../../sandbox/workspace/workspace-diff.ts";
import type { Texts } from "../../text/texts.ts";
import { coloursFor } from "../colours.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet } from "../command.ts";
import { assertSameMachine, openStack, openTexts } from "../compose/open-stack.ts";
import { renderCommits, renderDiff, renderNotes, toDiffReport } from "../diff-view/render-diff.ts";
import { renderPatch } from "../diff-view/render-patch.ts";
import { renderStat } from "../diff-view/render-stat.ts";
import { showPaged } from "../pager.ts";
import { printJson, printLine } from "../print.ts";
import { withProgress } from "../progress.ts";
import { usage } from "../usage.ts";
import { startedSandbox } from "../started-sandbox.ts";
import { viewOf } from "../diff-view/view-of.ts";
import { findTarget } from "../workspace-target.ts";

const FORMS = ["json", "name-only", "stat", "patch"] as const;
type Form = (typeof FORMS)[number];

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const form = formOf(call);
  const isPathsOnly = form === "name-only" || form === "patch";
  using texts = openTexts();
  if (!isPathsOnly) texts.prepare();
  await using stack = await openStack(call, context);
  assertSameMachine(stack.config);
  const { id, paths } = await findTarget(call, stack.sandboxes, process.cwd());
  const sandbox = await startedSandbox(stack, id, context);
  const options = { home: stack.config.home, texts, paths, ignored: isSet(call, "ignored"), isPathsOnly, signal: context.signal };
  const diff = await withProgress(context.stderr, "Comparing", diffWorkspace(sandbox, options));
  await show({ call, context, sandbox, texts }, diff, form);
  return 0;
}

function formOf(call: CommandCall): Form | undefined {
  const [form, ...others] = FORMS.filter((name) => isSet(call, name));
  if (others.length > 0) throw usage(`--${form} and --${others[0]} exclude each other`, `belljar ${call.spec.name} --help`);
  return form;
}

interface Showing {
  readonly call: CommandCall;
  readonly context: CommandContext;
  readonly sandbox: Sandbox;
  readonly texts: Texts;
}

async function show(showing: Showing, diff: WorkspaceDiff, form: Form | undefined): Promise<void> {
  const { call, context } = showing;
  const { stdout, env } = context;
  const view = viewOf(context, isSet(call, "unified"));
  switch (form) {
    case "json":
      return printJson(stdout, toDiffReport(diff));
    case "name-only":
      for (const { path } of diff.changes) printLine(stdout, path);
      return;
    case "stat":
      return showPaged(
        context,
        [renderCommits(diff), renderStat(diff.changes, coloursFor(stdout, env), view.terminalColumns), renderNotes(diff, view)].join(""),
      );
    case "patch":
      return showPatch(showing, diff);
    case undefined:
      return showPaged(context, renderDiff(diff, view));
  }
}

/** To a file or a pipe byte by byte as git wants it; on a terminal nothing in it can steer that. */
async function showPatch({ context, sandbox, texts }: Showing, diff: WorkspaceDiff): Promise<void> {
  const { stdout, stderr, signal, env } = context;
  const { patch, skipped } = await withProgress(stderr, "Reading", makeGitPatch({ sandbox, texts, signal }, diff));
  const notes = renderNotes({ ...diff, skipped: [...diff.skipped, ...skipped] }, { colours: coloursFor(stderr, env) });
  if (stdout.isTTY) await showPaged(context, patch === "" ? "" : renderPatch(patch, { colours: coloursFor(stdout, env) }));
  else stdout.write(patch);
  stderr.write(notes);
}
