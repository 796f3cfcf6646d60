/** What the files of a sandbox hold. An absent file is an empty text. */
export interface Content {
  readonly notes: string;
  readonly extra: string;
}

export type ForkFrom = { readonly sandbox: string } | { readonly snapshot: string };

export type Operation =
  | { readonly kind: "create" }
  | { readonly kind: "fork"; readonly from: ForkFrom; readonly count: number }
  | { readonly kind: "write" | "merge"; readonly id: string; readonly text: string }
  | { readonly kind: "checkpoint" | "stop" | "start" | "kill"; readonly id: string }
  | { readonly kind: "rollback" | "undo" | "removePoint"; readonly id: string; readonly point: string }
  | { readonly kind: "snapshot"; readonly id: string; readonly name?: string }
  | { readonly kind: "removeSnapshot"; readonly snapshot: string };

/** A fault comes up to so many milliseconds after the operation began: a little more than it takes. */
export const LATEST_MS: Readonly<Record<Operation["kind"], number>> = {
  create: 40,
  fork: 80,
  write: 10,
  merge: 150,
  checkpoint: 50,
  stop: 40,
  start: 40,
  kill: 40,
  rollback: 90,
  undo: 80,
  removePoint: 30,
  snapshot: 60,
  removeSnapshot: 30,
};

/** Of templates. `image`: the path of one, which replaces the template of that name. */
export type TemplateOperation =
  | { readonly kind: "buildTemplate"; readonly name: string; readonly dockerfile: string; readonly description: string }
  | { readonly kind: "pruneTemplates" }
  | { readonly kind: "importTemplate"; readonly name: string; readonly image: string }
  | { readonly kind: "removeTemplate"; readonly name: string };
