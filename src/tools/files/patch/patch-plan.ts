import { BelljarError } from "../../../errors.ts";
import type { Sandbox } from "../../../sandbox/sandbox.ts";
import { fromByteText, toByteText } from "../byte-text.ts";
import { changeFile } from "../file-changer.ts";
import type { ChangeResult } from "../file-changer.ts";
import type { FileState } from "../file-state.ts";
import { assertText, EDIT_MAX_BYTES, readState } from "../file-state.ts";
import { applyHunks } from "./apply-hunks.ts";
import type { FilePatch } from "./file-patch.ts";

/** A file that the patch touches, before and after. */
export interface PlannedChange {
  readonly path: string;
  readonly before: FileState;
  readonly after: Buffer | undefined;
  readonly mode?: number;
}

export interface PlanOptions {
  /** The absolute path for one of the patch. */
  readonly resolve: (path: string) => string;
  readonly signal: AbortSignal;
}

const TOTAL_MAX_BYTES = 4 * EDIT_MAX_BYTES;

/** Works out what a patch makes of the files, in memory. Rejects with `EDIT_CONFLICT`, naming all that does not fit. */
export async function planPatch(sandbox: Sandbox, patches: readonly FilePatch[], options: PlanOptions): Promise<readonly PlannedChange[]> {
  const plan = new PatchPlan(sandbox, options);
  const problems: string[] = [];
  for (const patch of patches) problems.push(...(await plan.take(patch)).map((problem) => `- "${patch.path}": ${problem}`));
  if (problems.length === 0) return plan.changes();
  throw new BelljarError("EDIT_CONFLICT", ["The patch does not apply, and nothing was changed:", ...problems].join("\n"));
}

interface PlannedFile {
  readonly path: string;
  readonly before: FileState;
  now: FileState;
  /** Only a mode that the patch names is set. */
  mode?: number;
}

/** Files as the patch has made them so far: one may be named by several parts of it. */
class PatchPlan {
  readonly #sandbox: Sandbox;
  readonly #options: PlanOptions;
  readonly #files = new Map<string, PlannedFile>();
  #size = 0;

  constructor(sandbox: Sandbox, options: PlanOptions) {
    this.#sandbox = sandbox;
    this.#options = options;
  }

  /** Answers why the patch of one file does not fit. */
  async take(patch: FilePatch): Promise<readonly string[]> {
    try {
      const file = await this.#load(patch.path);
      if (patch.kind === "add") return this.#add(file, patch);
      if (!file.now.content) return ["there is no such file"];
      assertText(patch.path, file.now.content);
      return patch.kind === "delete" ? this.#delete(file, patch) : await this.#update(file, patch);
    } catch (error) {
      if (error instanceof BelljarError && /^(FILE|PATH)_/.test(error.code)) return [`${error.code}: ${error.message}`];
      throw error;
    }
  }

  changes(): readonly PlannedChange[] {
    return [...this.#files.values()].flatMap(({ path, before, now, mode }) => {
      const isSame = before.content === now.content || (before.content && now.content?.equals(before.content));
      if (isSame && (mode === undefined || mode === before.mode)) return [];
      return [{ path, before, after: now.content, ...(mode !== undefined && { mode }) }];
    });
  }

  #add(file: PlannedFile, { text, mode }: FilePatch & { kind: "add" }): readonly string[] {
    if (file.now.content) return ["the file is there already; update it, or delete it first"];
    set(file, { content: fromByteText(text), mode });
    return [];
  }

  #delete(file: PlannedFile, { hunks }: FilePatch & { kind: "delete" }): readonly string[] {
    const outcome = hunks.length === 0 ? { text: "" } : applyHunks(toByteText(file.now.content ?? ""), hunks);
    if ("problems" in outcome) return outcome.problems;
    if (outcome.text !== "") return ["the file holds more than the patch takes away"];
    set(file, { content: undefined });
    return [];
  }

  async #update(file: PlannedFile, { hunks, moveTo, mode }: FilePatch & { kind: "update" }): Promise<readonly string[]> {
    const outcome = applyHunks(toByteText(file.now.content ?? ""), hunks);
    if ("problems" in outcome) return outcome.problems;
    const content = fromByteText(outcome.text);
    const target = moveTo === undefined ? file : await this.#load(moveTo);
    if (target === file) {
      set(file, { content, mode });
      return [];
    }
    if (target.now.content) return [`"${moveTo}", its new name, is there already`];
    set(target, { content, mode: mode ?? file.now.mode });
    set(file, { content: undefined });
    return [];
  }

  async #load(path: string): Promise<PlannedFile> {
    const absolute = this.#options.resolve(path);
    const known = this.#files.get(absolute);
    if (known) return known;
    const { signal } = this.#options;
    const before = await readState(this.#sandbox.guest.files, absolute, { signal, maxBytes: EDIT_MAX_BYTES });
    this.#size += before.content?.length ?? 0;
    if (this.#size > TOTAL_MAX_BYTES) throw new BelljarError("FILE_TOO_LARGE", "the files of the patch are too large together; split it");
    const file: PlannedFile = { path: absolute, before, now: before };
    this.#files.set(absolute, file);
    return file;
  }
}

function set(file: PlannedFile, { content, mode }: { readonly content: Buffer | undefined; readonly mode?: number | undefined }): void {
  const kept = mode ?? file.now.mode;
  file.now = { content, ...(kept !== undefined && { mode: kept }) };
  if (mode !== undefined) file.mode = mode;
}

/** Makes the changes, those that write first. When one fails the ones before it are taken back. */
export async function runPlan(sandbox: Sandbox, changes: readonly PlannedChange[], signal: AbortSignal): Promise<readonly ChangeResult[]> {
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
