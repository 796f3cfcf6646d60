import { once } from "node:events";
import { createInterface } from "node:readline/promises";
import type { Choice } from "../sandbox/workspace/choose-changes.ts";
import { foldersAbove } from "../sandbox/workspace/folders-above.ts";
import type { WorkspaceChange } from "../sandbox/workspace/workspace-change.ts";
import type { LineChange, ShownHunk } from "../text/choose-lines.ts";
import { readHunks, splitHunk } from "../text/choose-lines.ts";
import type { CommandContext } from "./command.ts";
import { nameChange } from "./diff-view/render-diff.ts";
import { renderPatch } from "./diff-view/render-patch.ts";
import type { View } from "./diff-view/render-patch.ts";
import { printLine } from "./print.ts";

const ANSWERS = {
  y: "write this",
  n: "do not write it",
  a: "write this and all that follows in this file",
  d: "write neither this nor what follows in this file",
  s: "split this into smaller parts",
  q: "quit: neither this nor anything that follows",
  "?": "show this help",
} as const;

type Answer = Exclude<keyof typeof ANSWERS, "?">;

/** Asks for each change, and for each part of a text that both sides have. What is not answered is not chosen. */
export async function askChoices(
  context: CommandContext,
  changes: readonly WorkspaceChange[],
  view: View,
): Promise<ReadonlyMap<string, Choice>> {
  const choices = new Map<string, Choice>();
  const lines = createInterface({ input: context.stdin, output: context.stderr, terminal: false });
  const closed = once(lines, "close");
  const ask = async (question: string, allowed: string): Promise<Answer> => {
    for (;;) {
      const line = await Promise.race([
        lines.question(`${question} [${allowed.split("").join(",")},?] `, { signal: context.signal }),
        closed.then(() => "q"),
      ]);
      const answer = line.trim().toLowerCase();
      if (answer.length === 1 && allowed.includes(answer)) return answer as Answer;
      for (const [key, meaning] of Object.entries(ANSWERS))
        if (`${allowed}?`.includes(key)) printLine(context.stderr, `${key} - ${meaning}`);
    }
  };
  try {
    for (const unit of toUnits(changes)) {
      const [first] = unit;
      if (!first) continue;
      const hunks = unit.length === 1 && first.kind === "modified" && first.patch !== undefined ? readHunks(first.patch) : [];
      const { choice, isLast } = await (hunks.length > 0
        ? askHunks({ context, view, ask }, first, hunks)
        : askWhole({ context, view, ask }, unit));
      for (const { key } of unit) choices.set(key, choice);
      if (isLast) break;
    }
  } finally {
    lines.close();
  }
  return withFolders(changes, choices);
}

interface Asking {
  readonly context: CommandContext;
  readonly view: View;
  readonly ask: (question: string, allowed: string) => Promise<Answer>;
}

interface Answered {
  readonly choice: Choice;
  readonly isLast: boolean;
}

async function askWhole({ context, view, ask }: Asking, unit: readonly WorkspaceChange[]): Promise<Answered> {
  for (const change of unit) {
    context.stdout.write(`${view.colours.bold(nameChange(change))}\n`);
    if (change.patch !== undefined) context.stdout.write(renderPatch(change.patch, view));
  }
  const answer = await ask("Write this?", "ynq");
  return { choice: answer === "y" ? "all" : "none", isLast: answer === "q" };
}

async function askHunks({ context, view, ask }: Asking, change: WorkspaceChange, all: readonly ShownHunk[]): Promise<Answered> {
  let left = [...all];
  let taken: readonly LineChange[] = [];
  let [isWhole, isLast] = [true, false];
  context.stdout.write(`${view.colours.bold(nameChange(change))}\n`);
  for (let hunk = left.shift(); hunk; hunk = left.shift()) {
    const parts = splitHunk(hunk);
    context.stdout.write(renderPatch([hunk.header, ...hunk.shown, ""].join("\n"), view));
    const answer = await ask(`Write this part of ${change.path}?`, parts.length > 1 ? "ynadsq" : "ynadq");
    if (answer === "s") left = [...parts, ...left];
    else if (answer === "y") taken = [...taken, ...hunk.changes];
    else if (answer === "a") taken = [...taken, ...[hunk, ...left.splice(0)].flatMap(({ changes }) => changes)];
    else isWhole = false;
    if (answer === "d" || answer === "q") left.length = 0;
    isLast = answer === "q";
  }
  return { choice: isWhole ? "all" : taken, isLast };
}

/**
 * What is asked about together: each change alone, but for what takes the place of a folder or becomes one, which goes with all below it.
 * Folders that only come and go with what lies in them are not asked about.
 */
function toUnits(changes: readonly WorkspaceChange[]): readonly (readonly WorkspaceChange[])[] {
  const units: WorkspaceChange[][] = [];
  const carried = findCarried(changes);
  let top: WorkspaceChange | undefined;
  for (const change of changes) {
    if (top && change.key.startsWith(`${top.key}/`)) {
      units.at(-1)?.push(change);
      continue;
    }
    top = change.kind === "type_changed" ? change : undefined;
    if (!carried.has(change.key)) units.push([change]);
  }
  return units;
}

/** Folders that come or go, with changes below them. */
function findCarried(changes: readonly WorkspaceChange[]): ReadonlySet<string> {
  const above = foldersAbove(changes.map(({ key }) => key));
  const isFolder = ({ kind, guest, host }: WorkspaceChange): boolean =>
    (kind === "added" || kind === "removed") && (guest ?? host).type === "directory";
  return new Set(changes.flatMap((change) => (isFolder(change) && above.has(change.key) ? [change.key] : [])));
}

/** A new folder comes with the first that is chosen below it, an old one goes with the last. */
function withFolders(changes: readonly WorkspaceChange[], choices: Map<string, Choice>): ReadonlyMap<string, Choice> {
  const carried = findCarried(changes);
  const isChosen = ({ key }: WorkspaceChange): boolean => (choices.get(key) ?? "none") !== "none";
  const asked = changes.filter(({ key }) => !carried.has(key));
  const used = foldersAbove(asked.filter(isChosen).map(({ key }) => key));
  const needed = foldersAbove(asked.filter((change) => !isChosen(change)).map(({ key }) => key));
  for (const { key, kind } of changes) {
    const isTaken = kind === "added" ? used.has(key) : !needed.has(key);
    if (carried.has(key) && !choices.has(key) && isTaken) choices.set(key, "all");
  }
  return choices;
}
