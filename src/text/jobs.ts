import type { TextEdit } from "./edit-text.ts";
import { editText } from "./edit-text.ts";
import { listPatchPaths, planPatch } from "./patch/plan-patch.ts";
import { mergeTexts } from "./merge-text.ts";
import type { TextDiff } from "./text-diff.ts";
import { diffTexts } from "./text-diff.ts";

export interface EditRequest {
  readonly content: Buffer;
  readonly edits: readonly TextEdit[];
  /** For messages. */
  readonly name: string;
  /** For the diff. */
  readonly path: string;
}

export interface EditAnswer {
  readonly content: Buffer;
  readonly replacements: number;
  readonly diff: TextDiff;
}

function edit({ content, edits, name, path }: EditRequest): EditAnswer {
  const edited = editText(content, edits, name);
  return { ...edited, diff: diffTexts({ from: `a${path}`, to: `b${path}`, before: content, after: edited.content }) };
}

/** The jobs on untrusted texts. Each job is a pure function of its request, and runs in a worker process. */
export const JOBS = { edit, listPatchPaths, planPatch, diff: diffTexts, merge: mergeTexts } as const;
