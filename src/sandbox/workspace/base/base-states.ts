import type { Entry, HostEntry } from "../entry.ts";
import type { AppliedEntry } from "../apply/applied-entries.ts";
import { fromAbove } from "../folders-above.ts";
import { isUntouched } from "../stamp.ts";
import type { BaseAnswer, BaseEntry, WorkspaceBase } from "./base-entry.ts";

/** How an entry began, on each side: at the create of the sandbox, or when it was last applied. */
export interface BaseState {
  /** What the sandbox has if it changed nothing. Absent: nothing. */
  readonly began: Entry | undefined;
  /** Whether the host's folder has it as it began. */
  readonly isUnchangedOutside: boolean;
  /** Where its text is found. */
  readonly blob?: string;
  readonly text?: Buffer;
}

export interface BaseSources {
  readonly base: WorkspaceBase;
  readonly applied: ReadonlyMap<string, AppliedEntry>;
  /** The whole folder as it is now. */
  readonly host: ReadonlyMap<string, HostEntry>;
}

/** How the entries with these keys began. What is not proven is undefined. */
export async function findBases(sources: BaseSources, keys: readonly string[]): Promise<(key: string) => BaseState | undefined> {
  const answer = await sources.base.workspaceBase(keys.filter((key) => !sources.applied.has(key)));
  const listed = new Map(answer.entries.map((entry) => [entry.key, entry]));
  const above = agesAbove(answer, sources.host);
  return (key) => {
    const applied = sources.applied.get(key);
    if (applied) return fromApplied(applied, sources.host.get(key));
    return fromList({ ...sources, answer, above, entry: listed.get(key) }, key);
  };
}

function fromApplied({ guest, host, text, isDiverged }: AppliedEntry, now: HostEntry | undefined): BaseState {
  const isUnchangedOutside = !isDiverged && (host && now ? isUntouched(host, now) : host === now);
  return { began: guest, isUnchangedOutside, ...(text && { text }) };
}

interface ListedKey extends BaseSources {
  readonly answer: BaseAnswer;
  readonly entry: BaseEntry | undefined;
  readonly above: AgesAbove;
}

function fromList({ answer, entry, above, host }: ListedKey, key: string): BaseState | undefined {
  const now = host.get(key);
  if (entry) return isProven(answer, entry) ? fromEntry(entry, now) : undefined;
  if (answer.isComplete) return { began: undefined, isUnchangedOutside: now === undefined };
  // A folder that was moved here brings old files along, and one from which something was removed is newer too.
  const isOld = (now ? isOlder(answer, now) : above.isAny(key)) && !above.isYoung(key);
  return isOld ? { began: now, isUnchangedOutside: true } : undefined;
}

/** What had changed by the time it was listed may have changed after the sandbox used it. A folder is told by its mode alone. */
function isProven(answer: BaseAnswer, entry: BaseEntry): boolean {
  return entry.type === "directory" || isOlder(answer, entry);
}

function isOlder({ startedNs }: BaseAnswer, entry: Pick<HostEntry, "ctimeNs"> | undefined): boolean {
  return startedNs !== undefined && entry !== undefined && entry.ctimeNs <= startedNs;
}

function fromEntry(entry: BaseEntry, now: HostEntry | undefined): BaseState {
  const isFolder = entry.type === "directory" && now?.type === "directory";
  const isUnchangedOutside = now !== undefined && (isFolder ? entry.mode === now.mode : isUntouched(entry, now));
  return { began: entry, isUnchangedOutside, ...(entry.blob !== undefined && { blob: entry.blob }) };
}

/** Of the folders above a path that the host has, but for the root. */
interface AgesAbove {
  isAny(key: string): boolean;
  /** Whether one of them may have changed since the sandbox was made. */
  isYoung(key: string): boolean;
}

function agesAbove(answer: BaseAnswer, host: BaseSources["host"]): AgesAbove {
  const any = fromAbove((folder) => host.has(folder) || undefined);
  const young = fromAbove((folder) => (host.has(folder) && !isOlder(answer, host.get(folder))) || undefined);
  return { isAny: (key) => any(key) ?? false, isYoung: (key) => young(key) ?? false };
}
