import { mapLimit } from "../async/map-limit.ts";
import { BelljarError } from "../errors.ts";
import { toEditProblem } from "./edit-problem.ts";
import type { Edits } from "./file-edits.ts";
import { codeFileOf } from "./store/manifest.ts";
import type { EditProblem, UnitId } from "./store/unit-store.ts";
import type { UnitSpec } from "./unit.ts";

/** How many edits are read together. */
const TOGETHER = 4;
const GONE = "its files are gone, and it stays until a server (`belljar serve`) sees that, or `belljar tool remove` removes it";
const WAITS = "it was edited by hand, and is no version yet: a server (`belljar serve`) takes it up, and says why if it cannot";

export interface EditLookOptions {
  readonly places: readonly Edits[];
  /** Reads code as an add does, and keeps nothing. Rejects with `TOOL_INVALID` and `TOOL_NAME_TAKEN`. */
  readonly check: (unit: UnitId, spec: UnitSpec) => Promise<void>;
}

/** Why edits by hand are no versions, for a process that takes none of them up. */
export class EditLook {
  readonly #options: EditLookOptions;
  /** By owner. */
  readonly #last = new Map<string, ReadonlyMap<string, EditProblem>>();

  constructor(options: EditLookOptions) {
    this.#options = options;
  }

  /** By the names of the owner's units. Unless it looks anew, what was found last counts: a list has many pages. */
  async problems(owner: string, looksAnew: boolean): Promise<ReadonlyMap<string, EditProblem>> {
    const known = looksAnew ? undefined : this.#last.get(owner);
    if (known) return known;
    const found = new Map<string, EditProblem>();
    for (const place of this.#options.places) {
      const units = (await place.edits()).filter((unit) => unit.owner === owner);
      await mapLimit(units, TOGETHER, async (unit) => {
        const problem = await this.#look(place, unit);
        if (problem) found.set(unit.name, problem);
      });
    }
    this.#last.set(owner, found);
    return found;
  }

  async problemOf(unit: UnitId): Promise<EditProblem | undefined> {
    for (const place of this.#options.places) {
      const problem = await this.#look(place, unit);
      if (problem) return problem;
    }
    return undefined;
  }

  async #look(place: Edits, unit: UnitId): Promise<EditProblem | undefined> {
    const edit = await place.edited(unit.owner, unit.name);
    if (!edit) return undefined;
    if (edit.kind === "removed") return { file: "", message: GONE };
    if (edit.kind === "invalid") return edit.problem;
    const { file = codeFileOf(edit.spec) } = edit;
    try {
      await this.#options.check(unit, edit.spec);
    } catch (cause) {
      if (cause instanceof BelljarError && ["TOOL_INVALID", "TOOL_NAME_TAKEN"].includes(cause.code)) return toEditProblem(file, cause);
    }
    return { file, message: WAITS };
  }
}
