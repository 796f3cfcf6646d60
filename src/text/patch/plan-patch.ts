import { posix } from "node:path";
import { BelljarError } from "../../errors.ts";
import { fromByteText, toByteText } from "../byte-text.ts";
import { assertText, EDIT_MAX_BYTES } from "../text-limits.ts";
import { applyHunks } from "./apply-hunks.ts";
import type { FilePatch } from "./file-patch.ts";
import { countLines } from "./file-lines.ts";
import { assertBounds, assertLineBound } from "./file-patch.ts";
import { parseCodexPatch } from "./parse-codex.ts";
import { parseUnifiedPatch } from "./parse-unified.ts";

/** A file before the patch. Without `content`, the file does not exist. `problem` tells why the file cannot be patched. */
export type KnownFile = { readonly content: Buffer | undefined; readonly mode?: number } | { readonly problem: string };

export interface PatchRequest {
  readonly patch: string;
  /** The folder that the patch's paths are relative to. */
  readonly base: string;
  /** By absolute path. It must hold all paths of `listPatchPaths`. */
  readonly files: ReadonlyMap<string, KnownFile>;
}

/** A file that the patch changes. Without `after`, the file is removed. `mode` is set only if the patch names it. */
export interface PatchedFile {
  readonly path: string;
  readonly after: Buffer | undefined;
  readonly mode?: number;
}

/** Returns the absolute paths of all files that a patch touches. Throws `ARGUMENTS_INVALID` for an invalid patch. */
export function listPatchPaths({ patch, base }: Omit<PatchRequest, "files">): readonly string[] {
  const named = parsePatch(patch).flatMap((one) =>
    one.kind === "update" && one.moveTo !== undefined ? [one.path, one.moveTo] : [one.path],
  );
  return [...new Set(named.map((path) => posix.resolve(base, path)))];
}

/** Applies a patch to the files in memory. Throws `EDIT_CONFLICT`, which names all parts that do not fit. */
export function planPatch({ patch, base, files }: PatchRequest): readonly PatchedFile[] {
  const plan = new PatchPlan(base, files);
  const problems: string[] = [];
  for (const one of parsePatch(patch)) problems.push(...plan.take(one).map((problem) => `- "${one.path}": ${problem}`));
  if (problems.length === 0) return plan.changes();
  throw new BelljarError("EDIT_CONFLICT", ["The patch does not apply, and nothing was changed:", ...problems].join("\n"));
}

interface FileState {
  readonly content: Buffer | undefined;
  readonly mode?: number;
}

interface PlannedFile {
  readonly path: string;
  readonly before: FileState;
  now: FileState;
  /** Set only if the patch names a mode. */
  mode?: number;
}

/** The state of the files while the patch is applied. Several parts of the patch may change the same file. */
class PatchPlan {
  readonly #base: string;
  readonly #known: PatchRequest["files"];
  readonly #files = new Map<string, PlannedFile>();

  constructor(base: string, known: PatchRequest["files"]) {
    this.#base = base;
    this.#known = known;
  }

  /** Applies the patch of one file. Returns the reasons if it does not fit. */
  take(patch: FilePatch): readonly string[] {
    try {
      const file = this.#load(patch.path);
      if (patch.kind === "add") return this.#add(file, patch);
      if (!file.now.content) return ["there is no such file"];
      assertText(patch.path, file.now.content);
      return patch.kind === "delete" ? this.#delete(file, patch) : this.#update(file, patch);
    } catch (error) {
      if (error instanceof FileProblem) return [error.message];
      if (error instanceof BelljarError && error.code.startsWith("FILE_")) return [`${error.code}: ${error.message}`];
      throw error;
    }
  }

  changes(): readonly PatchedFile[] {
    return [...this.#files.values()].flatMap(({ path, before, now, mode }) => {
      const isSame = before.content === now.content || (before.content && now.content?.equals(before.content));
      if (isSame && (mode === undefined || mode === before.mode)) return [];
      return [{ path, after: now.content, ...(mode !== undefined && { mode }) }];
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
    if (outcome.text !== "") return ["the file holds more than the patch removes"];
    set(file, { content: undefined });
    return [];
  }

  #update(file: PlannedFile, { path, hunks, moveTo, mode }: FilePatch & { kind: "update" }): readonly string[] {
    const outcome = applyHunks(toByteText(file.now.content ?? ""), hunks);
    if ("problems" in outcome) return outcome.problems;
    const content = toContent(path, outcome.text);
    const target = moveTo === undefined ? file : this.#load(moveTo);
    if (target === file) {
      set(file, { content, mode });
      return [];
    }
    if (target.now.content) return [`"${moveTo}", its new name, exists already`];
    set(target, { content, mode: mode ?? file.now.mode });
    set(file, { content: undefined });
    return [];
  }

  #load(path: string): PlannedFile {
    const absolute = posix.resolve(this.#base, path);
    const planned = this.#files.get(absolute);
    if (planned) return planned;
    const before = this.#known.get(absolute) ?? { content: undefined };
    if ("problem" in before) throw new FileProblem(before.problem);
    const file: PlannedFile = { path: absolute, before, now: before };
    this.#files.set(absolute, file);
    return file;
  }
}

/** The `problem` of a known file. */
class FileProblem extends Error {}

function toContent(path: string, text: string): Buffer {
  if (text.length <= EDIT_MAX_BYTES) return fromByteText(text);
  throw new BelljarError("FILE_TOO_LARGE", `"${path}" would have ${text.length} bytes; files are patched up to ${EDIT_MAX_BYTES} bytes`);
}

function set(file: PlannedFile, { content, mode }: { readonly content: Buffer | undefined; readonly mode?: number | undefined }): void {
  const kept = mode ?? file.now.mode;
  file.now = { content, ...(kept !== undefined && { mode: kept }) };
  if (mode !== undefined) file.mode = mode;
}

/** Parses both grammars. A patch with `*** Begin Patch` has the Codex grammar. Throws `ARGUMENTS_INVALID`, which names the line. */
export function parsePatch(patch: string): readonly FilePatch[] {
  assertLineBound(countLines(patch));
  const lines = toByteText(patch.replace(/^\ufeff/, "")).split("\n");
  if (lines.at(-1) === "") lines.pop();
  const begin = lines.findIndex((line) => line.trimEnd() === "*** Begin Patch");
  return assertBounds(begin >= 0 ? parseCodexPatch(lines, begin) : parseUnifiedPatch(lines));
}
