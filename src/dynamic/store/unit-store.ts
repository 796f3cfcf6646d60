import type { UnitHead, UnitSpec, UnitVersion } from "../unit.ts";

/** What names a unit. Both are any text: a store never uses them unchecked as a path or in a query. */
export interface UnitId {
  readonly owner: string;
  readonly name: string;
}

/**
 * The units of all owners. Several processes may share a store. A head or a version that is damaged is reported and left out; the others
 * stay readable. A store that cannot be reached rejects every call with a retryable error. Disposal ends its watches.
 */
export interface UnitStore extends AsyncDisposable {
  /** Every unit's head, as the store has it now. */
  heads(): Promise<readonly UnitHead[]>;
  /** Resolves with undefined if there is no such unit, and if its head is damaged. */
  head(owner: string, name: string): Promise<UnitHead | undefined>;
  /** Resolves with undefined if the head names no such version, and if it is damaged. */
  version(owner: string, name: string, number: number): Promise<UnitVersion | undefined>;
  /**
   * Writes the head, and with it the version that it adds: wholly or not at all, and on disk before it resolves. `expected` is the revision
   * that the head replaces, 0 for a new unit; the revision of `head` must be one more. Rejects with `TOOL_CONFLICT` if the stored revision
   * is another one. Versions that the head does not name any more are removed.
   */
  write(head: UnitHead, expected: number, added?: UnitVersion): Promise<void>;
  /** Removes the unit with all versions. Rejects with `TOOL_CONFLICT` if the stored revision is another one. */
  remove(owner: string, name: string, expected: number): Promise<void>;
  /**
   * Does the work while nobody else does such work for the owner, in this or another process: for a change that other units of the owner
   * forbid or allow. Rejects with `TOOL_STORE_BUSY` while another process takes long, and with the signal's reason while it waits.
   */
  alone<T>(owner: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
  /**
   * Calls back after every change by this or another process, until the result is called. Several changes of a unit may be told as one.
   * `undefined`: anything may have changed, because a watch was lost or found again.
   */
  onChange(listener: ChangeListener): () => void;
}

export type ChangeListener = (changed: UnitId | undefined) => void;

/** A store whose units a person may also change by hand, outside Belljar. */
export interface EditableStore extends UnitStore {
  /** Every unit that a person has changed, added or removed by hand, as far as the newest version does not have the change. */
  edits(): Promise<readonly UnitId[]>;
  /** The change that a person has made to the unit. Undefined if the files are as the newest version has them. */
  edited(owner: string, name: string): Promise<UnitEdit | undefined>;
  /** The folder in which a person edits the unit, whether it is there or not. */
  placeOf(owner: string, name: string): string;
  /**
   * Calls back after files of a unit have changed, until the result is called. `edited` says whether the change is a person's. Many changes
   * within a moment are told once for each unit. `undefined`: any unit may have changed.
   */
  onEdit(listener: ChangeListener): () => void;
}

/** A change that a person made by hand. */
export type UnitEdit =
  /** `file`: with the code, if it is not the one that a store writes. */
  | { readonly kind: "changed"; readonly spec: UnitSpec; readonly file?: string }
  | { readonly kind: "invalid"; readonly problem: EditProblem }
  /** The folder or all its files are gone. Whoever accepts this removes the unit. */
  | { readonly kind: "removed" };

/** Why files cannot be read as a unit. */
export interface EditProblem {
  /** Name of the file in the unit's folder, such as `tool.json`. */
  readonly file: string;
  /** From 1, if a line is to blame. */
  readonly line?: number;
  readonly message: string;
}
