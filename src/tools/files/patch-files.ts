import { BelljarError } from "../../errors.ts";
import type { GuestFiles, Sandbox } from "../../sandbox/sandbox.ts";
import type { KnownFile, PatchedFile } from "../../text/patch/plan-patch.ts";
import { EDIT_MAX_BYTES } from "../../text/text-limits.ts";
import type { ChangeResult } from "./file-changer.ts";
import { changeFile } from "./file-changer.ts";
import type { FileState } from "./file-state.ts";
import { readState } from "./file-state.ts";

/** A file that the patch changes, before and after. */
export interface PlannedChange extends PatchedFile {
  readonly before: FileState;
}

const TOTAL_MAX_BYTES = 2 * EDIT_MAX_BYTES;

const TOO_LARGE = { problem: "FILE_TOO_LARGE: the files of the patch are too large together; split it" };

/** The files that a patch touches, as they are. What cannot be read says why in its place. None is read once they are too large together. */
export async function readFiles(
  { guest }: Sandbox,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, KnownFile>> {
  const files = new Map<string, KnownFile>();
  let left = TOTAL_MAX_BYTES;
  for (const path of paths) {
    const file = left < 0 ? TOO_LARGE : await readOrProblem(guest.files, path, signal);
    left -= "content" in file ? (file.content?.length ?? 0) : 0;
    files.set(path, left < 0 ? TOO_LARGE : file);
  }
  return files;
}

async function readOrProblem(files: GuestFiles, path: string, signal: AbortSignal): Promise<KnownFile> {
  try {
    return await readState(files, path, { signal, maxBytes: EDIT_MAX_BYTES });
  } catch (error) {
    if (error instanceof BelljarError && /^(FILE|PATH)_/.test(error.code)) return { problem: `${error.code}: ${error.message}` };
    throw error;
  }
}

/** Makes the changes, those that write first. When one fails the ones before it are taken back. */
export async function changeFiles(
  sandbox: Sandbox,
  changes: readonly PlannedChange[],
  signal: AbortSignal,
): Promise<readonly ChangeResult[]> {
  const ordered = [...changes.filter(({ after }) => after), ...changes.filter(({ after }) => !after)];
  const results: ChangeResult[] = [];
  for (const [index, change] of ordered.entries()) {
    try {
      results.push(await changeFile(sandbox, change, signal));
    } catch (error) {
      await takeBack(sandbox, ordered.slice(0, index), error);
      throw error;
    }
  }
  return results;
}

/** The call's own signal may have aborted: going back has a time of its own. */
const TAKE_BACK_MS = 10_000;

async function takeBack(sandbox: Sandbox, done: readonly PlannedChange[], cause: unknown): Promise<void> {
  const signal = AbortSignal.timeout(TAKE_BACK_MS);
  const back = done.map(({ path, before, after }) => ({ path, before: { content: after }, after: before.content, mode: before.mode }));
  const outcomes = await Promise.allSettled(
    back.map(({ mode, ...change }) => changeFile(sandbox, { ...change, ...(mode !== undefined && { mode }) }, signal)),
  );
  const stuck = back.filter((_change, index) => outcomes[index]?.status === "rejected").map(({ path }) => path);
  if (stuck.length === 0) return;
  const message = `The patch failed in the middle, and these files are changed all the same: ${stuck.join(", ")}. undo_edit takes each back`;
  throw new BelljarError("FILE_IO", message, { cause });
}
