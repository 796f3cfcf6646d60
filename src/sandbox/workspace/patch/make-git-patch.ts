import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { BelljarError } from "../../../errors.ts";
import type { Texts } from "../../../text/texts.ts";
import type { Entry } from "../entry.ts";
import { isInGit } from "../git-name.ts";
import { HostFolder } from "../host-folder.ts";
import type { Sides } from "../read-sides.ts";
import { readGuestFile, readHostFile } from "../read-sides.ts";
import type { SkippedEntry, WorkspaceChange, WorkspaceDiff } from "../workspace-change.ts";
import { orUnreadable } from "../workspace-change.ts";
import { toLiteral } from "./binary-literal.ts";
import { quotePath } from "./quote-path.ts";

/** Of both sides of all files together: half a patch must not be taken for a whole one, so it is made before it is printed. */
const MAX_BYTES = 64 * 1024 * 1024;
const NONE = "0".repeat(40);
const NO_FILE = "/dev/null";

export interface GitPatch {
  /** Empty if git has no name for what changed: folders, and modes other than the one for execution. */
  readonly patch: string;
  readonly skipped: readonly SkippedEntry[];
}

type Sources = Omit<Sides, "folder"> & { readonly texts: Texts };

/**
 * A diff's changes as `git apply` takes them: with modes, links, deletions, names of any bytes, and what is no text. Applied to the host's
 * folder as that is now, it makes of it what `applyWorkspace` does, as far as git knows of it.
 * `FILE_TOO_LARGE` when it would be too large, `WORKSPACE_CONFLICT` when the sandbox changes meanwhile.
 */
export async function makeGitPatch(sources: Sources, { hostPath, changes }: WorkspaceDiff): Promise<GitPatch> {
  const making = { ...sources, folder: new HostFolder(hostPath) };
  const parts: string[] = [];
  const skipped: SkippedEntry[] = [];
  let left = MAX_BYTES;
  for (const change of changes) {
    left -= sizeOf(change.host) + sizeOf(change.guest);
    if (left < 0) throw tooLarge();
    if (isInGit(change.key)) skipped.push({ path: change.path, reason: "git takes no patch of a repository's own files" });
    else {
      const made = await orUnreadable(change.key, () => patchOf(making, change));
      if (typeof made === "string") parts.push(made);
      else skipped.push(made);
    }
  }
  return { patch: parts.join(""), skipped };
}

type Making = Sources & { readonly folder: HostFolder };

/** A file or link as git has it. */
interface Blob {
  readonly mode: "100644" | "100755" | "120000";
  readonly content: Buffer;
}

async function patchOf(making: Making, change: WorkspaceChange): Promise<string> {
  const before = await blobOf(change.host, () => readHostFile(making, change));
  const after = await blobOf(change.guest, async () => change.merged ?? (await readGuestFile(making, change)));
  if (!before || !after || isLink(before) === isLink(after)) return section(making, change, { before, after });
  return (await section(making, change, { before, after: undefined })) + (await section(making, change, { before: undefined, after }));
}

async function blobOf(entry: Entry | undefined, read: () => Promise<Buffer>): Promise<Blob | undefined> {
  if (entry?.type === "link") return { mode: "120000", content: entry.target ?? Buffer.alloc(0) };
  return entry?.type === "file" ? { mode: (entry.mode & 0o100) === 0 ? "100644" : "100755", content: await read() } : undefined;
}

interface Blobs {
  readonly before: Blob | undefined;
  readonly after: Blob | undefined;
}

async function section(making: Making, { key }: WorkspaceChange, blobs: Blobs): Promise<string> {
  const { before, after } = blobs;
  const isSame = before && after ? before.content.equals(after.content) : before === after;
  if (isSame && before?.mode === after?.mode) return "";
  const [from, to] = [quotePath("a", key), quotePath("b", key)];
  const isKept = before !== undefined && before.mode === after?.mode;
  const index = isSame ? [] : [`index ${nameOf(before)}..${nameOf(after)}${isKept ? ` ${before.mode}` : ""}`];
  const head = [`diff --git ${from} ${to}`, ...modeLines(blobs), ...index];
  const content = isSame ? "" : await contentLines(making, blobs, [before ? from : NO_FILE, after ? to : NO_FILE]);
  return `${head.join("\n")}\n${content}`;
}

function modeLines({ before, after }: Blobs): readonly string[] {
  if (!before) return after ? [`new file mode ${after.mode}`] : [];
  if (!after) return [`deleted file mode ${before.mode}`];
  return before.mode === after.mode ? [] : [`old mode ${before.mode}`, `new mode ${after.mode}`];
}

/** Nothing for an empty file that comes or goes. */
async function contentLines(making: Making, { before, after }: Blobs, [from, to]: readonly [string, string]): Promise<string> {
  const [old, now] = [before?.content ?? Buffer.alloc(0), after?.content ?? Buffer.alloc(0)];
  if (old.length + now.length === 0) return "";
  const hunks = isText(old) && isText(now) ? await hunksOf(making, old, now) : undefined;
  if (hunks === undefined) return `GIT binary patch\n${await toLiteral(now)}${await toLiteral(old)}`;
  return `--- ${from}\n+++ ${to}\n${hunks}`;
}

/** Undefined for texts that are too much work: they are written whole. */
async function hunksOf({ sandbox, texts, signal }: Making, before: Buffer, after: Buffer): Promise<string | undefined> {
  try {
    const { diff } = await texts.run("diff", { from: "a", to: "b", before, after }, { owner: sandbox.id, signal });
    return diff?.slice(diff.indexOf("@@ "));
  } catch (error) {
    if (error instanceof BelljarError && error.code === "FILE_TOO_LARGE") return undefined;
    throw error;
  }
}

function nameOf(blob: Blob | undefined): string {
  return blob ? createHash("sha1").update(`blob ${blob.content.length}\0`).update(blob.content).digest("hex") : NONE;
}

function isLink({ mode }: Blob): boolean {
  return mode === "120000";
}

function isText(content: Buffer): boolean {
  return !content.includes(0) && isUtf8(content);
}

function sizeOf(entry: Entry | undefined): number {
  return entry?.type === "file" ? entry.size : 0;
}

function tooLarge(): BelljarError {
  return new BelljarError("FILE_TOO_LARGE", `A patch of more than ${MAX_BYTES / 1024 / 1024} MiB is not made: name paths for a part of it`);
}
