import { realpath } from "node:fs/promises";
import { isAbsolute, relative, resolve } from "node:path";
import { BelljarError } from "../errors.ts";
import type { Language } from "../interpreter/language.ts";
import type { Limits, ProgramPlace } from "../interpreter/program.ts";
import { LOCAL } from "../sandbox/sandbox.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { applyWorkspace } from "../sandbox/workspace/apply-workspace.ts";
import { printable } from "../files/printable.ts";
import type { WorkspaceDiff } from "../sandbox/workspace/workspace-change.ts";
import { diffWorkspace } from "../sandbox/workspace/workspace-diff.ts";
import type { CommandCall, CommandContext } from "./command.ts";
import { textOption } from "./command.ts";
import { configuredPolicy } from "./compose/configured-policy.ts";
import type { Stack } from "./compose/open-stack.ts";
import { openTexts, workspaceOption } from "./compose/open-stack.ts";
import { namedLimits } from "./limit-options.ts";
import { printLine } from "./print.ts";

const CONFLICTS_SHOWN = 20;

/** A fresh sandbox for a program. Disposing it kills the sandbox. */
export interface RunSandbox extends AsyncDisposable {
  readonly sandbox: Sandbox;
  /** Absent if no workspace is named. */
  readonly place?: ProgramPlace;
  /** Path of the program's file in the workspace. Absent if it does not lie there. */
  readonly entryFile?: string;
  /** Writes the files that the program left to the folder of the host, if the mode says so. */
  bringBack(): Promise<void>;
}

export interface RunWishes {
  readonly stack: Stack;
  readonly language: Language;
  /** The program's file; absent for one from stdin. */
  readonly file: string | undefined;
}

/** Undefined if the command line names neither a workspace nor limits. Rejects with `LIMIT_UNENFORCEABLE` for a limit that it names. */
export async function openRunSandbox(
  call: CommandCall,
  { signal, ...context }: CommandContext,
  { stack, language, file }: RunWishes,
): Promise<RunSandbox | undefined> {
  const named = textOption(call, "workspace");
  const workspace = named === undefined ? undefined : await workspaceOption(stack.config);
  const wanted = namedLimits(call);
  if (!workspace && Object.keys(wanted).length === 0) return undefined;
  const entryFile = workspace && file !== undefined ? await pathWithin(workspace.path, file) : undefined;
  const limits = { ...raise(stack.config.program, language.needs), ...wanted };
  const network = await configuredPolicy(stack.config, "program");
  const { template } = language;
  const options = {
    ...(workspace && { workspace }),
    ...(template !== undefined && { template }),
    limits,
    network,
    bestEffort: true,
    ephemeral: true,
  };
  const sandbox = await stack.sandboxes.create(LOCAL, options, signal);
  const opened: RunSandbox = {
    sandbox,
    ...(workspace && { place: { folder: sandbox.inside.cwd, hasEntry: entryFile !== undefined } }),
    ...(entryFile !== undefined && { entryFile }),
    bringBack: async () => {
      if (workspace?.mode === "copy" && !named?.endsWith(":copy")) await bringBack(sandbox, stack.config, { signal, ...context });
    },
    [Symbol.asyncDispose]: () => sandbox.kill(),
  };
  await assertEnforced(opened, wanted);
  return opened;
}

/** The configured limits, and what the language's tools need at least. */
function raise({ timeoutMs: _timeout, network: _network, ...limits }: Stack["config"]["program"], needs: Limits = {}): Limits {
  const raised = Object.entries(needs).flatMap(([name, need]) => {
    const limit = limits[name as keyof Limits];
    return limit === undefined ? [] : [[name, Math.max(limit, need)] as const];
  });
  return { ...limits, ...Object.fromEntries(raised) };
}

async function assertEnforced(opened: RunSandbox, wanted: Limits): Promise<void> {
  const { unenforced } = await opened.sandbox.info();
  const missing = unenforced.filter((name) => name in wanted);
  if (missing.length === 0) return;
  await opened[Symbol.asyncDispose]();
  const advice = "leave it out; `belljar doctor` tells what would make it possible";
  throw new BelljarError("LIMIT_UNENFORCEABLE", `This host cannot enforce ${missing.join(", ")}: ${advice}`);
}

/** Without a mode the folder is a copy while the program runs, and gets its files at the end. Who writes `:copy` wants a copy. */
async function bringBack(sandbox: Sandbox, { home }: Stack["config"], { stderr, signal }: CommandContext): Promise<void> {
  using texts = openTexts();
  const diff = await diffWorkspace(sandbox, { home, texts, signal });
  if (diff.changes.length > 0) {
    const { written, removed } = await applyWorkspace(sandbox, diff, { home, signal });
    printLine(
      stderr,
      `belljar: ${diff.hostPath}: ${written} written, ${removed} removed. To undo it: belljar sandbox apply --undo ${diff.sandboxId}`,
    );
  }
  for (const line of leftOut(diff)) printLine(stderr, `belljar: Left out: ${line}`);
  if (diff.conflicts.length > 0) throw conflict(diff);
}

/** What ends with the sandbox. */
function leftOut({ held, skipped, ignored, commits }: WorkspaceDiff): readonly string[] {
  return [
    ...held.map(({ change, reason }) => `${printable(change.path)}, ${reason}`),
    ...skipped.map(({ path, reason }) => `${printable(path)}, ${reason}`),
    ...(ignored > 0 ? [`${ignored} change(s) that git ignores: with :rw they are made at once`] : []),
    ...(commits > 0 ? [`${commits} commit(s): with :rw they are made at once`] : []),
  ];
}

function conflict({ conflicts, hostPath }: WorkspaceDiff): BelljarError {
  const named = conflicts.slice(0, CONFLICTS_SHOWN).map(({ change, reason }) => `${printable(change.path)}, ${reason}`);
  const more = conflicts.length > named.length ? `; and ${conflicts.length - named.length} more` : "";
  const advice = "These files of the program were not written: run it again, or with :rw";
  return new BelljarError("WORKSPACE_CONFLICT", `${hostPath} has changed while the program ran: ${named.join("; ")}${more}. ${advice}`);
}

/** The path of a file below the folder; undefined if it lies elsewhere. */
async function pathWithin(folder: string, file: string): Promise<string | undefined> {
  const path = relative(folder, await realpath(resolve(file)).catch(() => resolve(file)));
  return path === "" || path === ".." || path.startsWith("../") || isAbsolute(path) ? undefined : path;
}
