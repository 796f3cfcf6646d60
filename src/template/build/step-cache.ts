import { createHash } from "node:crypto";
import { join } from "node:path";
import * as z from "zod";
import { BelljarError } from "../../errors.ts";
import { parseJson } from "../../files/parse-json.ts";
import type { StateStore } from "../../runtime/contract/state-store.ts";
import { ClaimedFiles } from "../../sandbox/state/claimed-files.ts";
import { dateField } from "../../sandbox/wire/fields.ts";

/** Of one owner. Beyond them those go that were used the longest time ago. */
const STEPS_MAX = 256;
const ID_LENGTH = 20;
/** Steps that an earlier Belljar has made otherwise are made again. */
const FORMAT = 2;

const schema = z.object({
  version: z.literal(1),
  id: z.string(),
  owner: z.string(),
  key: z.string(),
  runtime: z.string(),
  /** The topmost first. */
  layers: z.array(z.string()).readonly(),
  /** Of the files that the step has written. */
  bytes: z.number().nonnegative(),
  createdAt: dateField,
});

/** What a step of a build left, as the disk has it. Its layers have it as their user. */
export type StepRecord = Readonly<z.output<typeof schema>>;

/** What a step came to: the layers of the stage after it. */
export type StepResult = Pick<StepRecord, "layers" | "bytes">;

/** `templates/steps/<id>/`: each by an id that says whose it is and what it depends on. The time of its record is when it was last used. */
export type StepFiles = ClaimedFiles<StepRecord>;

export function openStepFiles(home: string, report: (problem: string) => void): StepFiles {
  return new ClaimedFiles({ directory: join(home, "templates", "steps"), what: "step", parse, report });
}

export interface CacheParts {
  readonly files: StepFiles;
  readonly states: Pick<StateStore, "has" | "hold" | "letGo">;
  readonly runtime: string;
  readonly owner: string;
  /** Of all that one owner's steps have written. */
  readonly maxBytes: number;
}

/** The steps that an owner's builds have made. Nobody learns from them what another owner has built. */
export class StepCache {
  readonly #parts: CacheParts;

  constructor(parts: CacheParts) {
    this.#parts = parts;
  }

  /** What depends on the same, once `hold` has its layers. Undefined if there is none, or if they are gone. */
  async find(depends: unknown, hold: (layers: readonly string[]) => Promise<void>): Promise<StepResult | undefined> {
    const { files, states, owner } = this.#parts;
    const { id, key } = this.#name(depends);
    const found = await files.read(id);
    if (!found || found.key !== key || found.owner !== owner) return undefined;
    try {
      await hold(found.layers);
      if (await states.has(found.layers)) {
        await files.touch(id).catch(() => undefined); // it only goes sooner
        return found;
      }
    } catch (cause) {
      if (!(cause instanceof BelljarError) || cause.code !== "SANDBOX_FILES_LOST") throw cause;
    }
    await this.drop(found);
    return undefined;
  }

  /** The caller uses the layers meanwhile. Of two that keep the same one does, and the other one may be rejected. */
  async keep(depends: unknown, { layers, bytes }: StepResult): Promise<void> {
    const { files, states, runtime, owner } = this.#parts;
    const { id, key } = this.#name(depends);
    if (await files.isUser(id)) return;
    await files.begin({ id, owner });
    try {
      await states.hold(layers, stepUser({ id }));
      await files.commit({ version: 1, id, owner, key, runtime, layers, bytes, createdAt: new Date() });
    } catch (cause) {
      await files.forget(id);
      throw cause;
    }
    await this.#trim();
  }

  /** What depends on this is made again. */
  async forget(depends: unknown): Promise<void> {
    const found = await this.#parts.files.read(this.#name(depends).id);
    if (found?.owner === this.#parts.owner) await this.drop(found);
  }

  async own(): Promise<readonly StepRecord[]> {
    const { owner, runtime } = this.#parts;
    return (await this.#parts.files.list()).filter((one) => one.owner === owner && one.runtime === runtime);
  }

  async drop({ id, layers }: Pick<StepRecord, "id" | "layers">): Promise<void> {
    const { files, states } = this.#parts;
    if (!(await files.retract(id))) return;
    await states.letGo(layers, stepUser({ id }));
    await files.forget(id);
  }

  async #trim(): Promise<void> {
    let [count, bytes] = [0, 0];
    const used = (await this.own()).map((one) => ({ one, at: this.#parts.files.touchedAt(one.id) }));
    for (const { one } of used.toSorted((a, b) => b.at - a.at)) {
      count += 1;
      bytes += one.bytes;
      if (count > STEPS_MAX || bytes > this.#parts.maxBytes) await this.drop(one);
    }
  }

  #name(depends: unknown): { readonly id: string; readonly key: string } {
    const { owner, runtime } = this.#parts;
    const key = createHash("sha256")
      .update(JSON.stringify([FORMAT, owner, runtime, depends]))
      .digest("hex");
    return { id: key.slice(0, ID_LENGTH), key };
  }
}

/** The user of a step's layers. */
function stepUser({ id }: Pick<StepRecord, "id">): string {
  return `step-${id}`;
}

function parse(id: string, text: string): StepRecord | undefined {
  const record = schema.safeParse(parseJson(text)).data;
  return record?.id === id ? record : undefined;
}
