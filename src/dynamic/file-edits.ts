import { limitTime } from "../async/limit-time.ts";
import { mapLimit } from "../async/map-limit.ts";
import { TurnsByKey } from "../async/turns-by-key.ts";
import { BelljarError } from "../errors.ts";
import { LOCAL, type Principal } from "../sandbox/sandbox.ts";
import { isSameProblem, tellProblem, toEditProblem } from "./edit-problem.ts";
import { codeFileOf } from "./store/manifest.ts";
import type { EditableStore, EditProblem, UnitEdit, UnitId } from "./store/unit-store.ts";
import type { UnitLife } from "./unit-life.ts";
import { keyOf } from "./unit-key.ts";

/** Where a person changes units by hand. */
export type Edits = Pick<EditableStore, "edits" | "edited" | "onEdit">;

/** Time for an edit to be read, tested and published. */
const EDIT_MS = 300_000;
/** How many are read together when a folder of many is found. */
const TOGETHER = 4;

export interface FileEditsOptions {
  readonly places: readonly Edits[];
  readonly life: UnitLife;
  readonly isKnown: (unit: UnitId) => boolean;
  readonly report: (problem: string) => void;
}

/**
 * Takes up what a person changes in the files of units, as a publish would: what cannot be read, or fails its tests, leaves callers what they
 * have. Disposing it ends what is under way.
 */
export class FileEdits implements AsyncDisposable {
  readonly #options: FileEditsOptions;
  readonly #turns = new TurnsByKey();
  readonly #problems = new Map<string, { readonly unit: UnitId; readonly problem: EditProblem }>();
  /** Edits that were refused because of what may be otherwise by now. */
  readonly #again = new Map<string, { readonly place: Edits; readonly unit: UnitId }>();
  readonly #closing = new AbortController();
  readonly #unwatch: readonly (() => void)[];

  constructor(options: FileEditsOptions) {
    this.#options = options;
    const changed = (place: Edits, unit: UnitId | undefined): void => {
      void (unit ? this.#takeUp(place, unit) : this.#takeUpAll(place));
      this.tryAgain();
    };
    this.#unwatch = options.places.map((place) => place.onEdit((unit) => changed(place, unit)));
    for (const place of options.places) void this.#takeUpAll(place);
  }

  /** Why the files of a unit are no version of it. */
  problemOf(unit: UnitId): EditProblem | undefined {
    return this.#problems.get(keyOf(unit))?.problem;
  }

  /** The same of all units of the owner, by their names. */
  problems(owner: string): ReadonlyMap<string, EditProblem> {
    const own = [...this.#problems.values()].filter(({ unit }) => unit.owner === owner);
    return new Map(own.map(({ unit, problem }) => [unit.name, problem]));
  }

  /** Takes up, in the background, what was refused by a quota or another failure that may be over: of the owner, or of all. */
  tryAgain(owner?: string): void {
    for (const [key, { place, unit }] of this.#again) {
      if (owner !== undefined && unit.owner !== owner) continue;
      this.#again.delete(key);
      void this.#takeUp(place, unit);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const stop of this.#unwatch) stop();
    this.#closing.abort();
    await this.#turns.idle();
  }

  async #takeUpAll(place: Edits): Promise<void> {
    const units = await place.edits().catch((cause: unknown) => {
      this.#options.report(`The files of tools cannot be looked at: ${String(cause)}`);
      return [];
    });
    await mapLimit(units, TOGETHER, (unit) => this.#takeUp(place, unit));
  }

  #takeUp(place: Edits, unit: UnitId): Promise<void> {
    return this.#turns.run(keyOf(unit), async () => {
      let file = "";
      try {
        const edit = await place.edited(unit.owner, unit.name);
        if (edit?.kind === "changed") file = edit.file ?? codeFileOf(edit.spec);
        if (edit?.kind === "invalid") this.#refuse(unit, edit.problem);
        else if (!edit || (await this.#apply(place, unit, edit))) this.#problems.delete(keyOf(unit));
      } catch (cause) {
        if (this.#closing.signal.aborted) return;
        if (cause instanceof BelljarError && cause.retryable) this.#again.set(keyOf(unit), { place, unit });
        this.#refuse(unit, toEditProblem(file, cause));
      }
    });
  }

  /** False if another process takes the edit up. */
  async #apply(place: Edits, { owner, name }: UnitId, edit: Exclude<UnitEdit, { kind: "invalid" }>): Promise<boolean> {
    const { life, isKnown } = this.#options;
    const principal: Principal = owner === LOCAL.id ? LOCAL : { id: owner, name: owner };
    using limit = limitTime(this.#closing.signal, EDIT_MS);
    const { signal } = limit;
    const wasKnown = isKnown({ owner, name });
    try {
      if (edit.kind === "removed") await life.remove(principal, name);
      else if (wasKnown) await life.update(principal, { name, spec: edit.spec }, signal, { publish: true });
      else await life.add(principal, { name, spec: edit.spec }, signal, { publish: true });
      return true;
    } catch (cause) {
      if (!(cause instanceof BelljarError)) throw cause;
      if (!wasKnown && isKnown({ owner, name })) return false;
      // Another process has taken it up, or has changed something else of the unit: whether an edit is left shows the next look.
      if (cause.code !== "TOOL_CONFLICT") throw cause;
      this.#again.set(keyOf({ owner, name }), { place, unit: { owner, name } });
      return false;
    }
  }

  #refuse(unit: UnitId, problem: EditProblem): void {
    if (isSameProblem(this.problemOf(unit), problem)) return;
    this.#problems.set(keyOf(unit), { unit, problem });
    this.#options.report(`The edit of the tool "${unit.name}" was not taken up: ${tellProblem(problem)}`);
  }
}
