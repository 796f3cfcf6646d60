import { BelljarError } from "../../../errors.ts";
import type { Base, Run, StateChange, StateReading, StateView } from "../../runtime.ts";
import type { JailPaths } from "../jail-spec.ts";
import type { StorageKind } from "../storage.ts";
import type { Template } from "../template/template.ts";
import { comparedState, type ComparedState, encodeComparison, encodeReading } from "./compare-spec.ts";
import { compareStates, readState } from "./compare.ts";
import type { LayerFacts, LayerFolders } from "./layer-folders.ts";
import { readStack } from "./stack-file.ts";

export interface SeenStatesOptions {
  readonly binary: string;
  readonly place: (run: Run) => JailPaths;
  readonly template: (base: Base) => Promise<Template>;
  readonly folders: LayerFolders;
  /** Rejects if what was written there cannot be reached. */
  readonly reach: (storage: StorageKind) => Promise<void>;
  readonly facts: (layers: readonly string[]) => Promise<readonly LayerFacts[]>;
}

/** A state as it was read. */
interface Seen {
  readonly state: ComparedState;
  readonly sandbox: Run;
  readonly below: readonly string[];
}

/** Looks at states, frozen and present, and changes nothing. */
export class SeenStates {
  readonly #options: SeenStatesOptions;

  constructor(options: SeenStatesOptions) {
    this.#options = options;
  }

  async *compare(from: StateView, to: StateView, signal: AbortSignal): AsyncGenerator<StateChange> {
    const [before, after] = [await this.#see(from), await this.#see(to)];
    yield* whileUnraised(compareStates(this.#options.binary, encodeComparison(before.state, after.state), signal), [before, after]);
  }

  async *read(view: StateView, path: Buffer, reading: StateReading): AsyncGenerator<Buffer> {
    const seen = await this.#see(view);
    yield* whileUnraised(readState(this.#options.binary, encodeReading(seen.state, path, reading.maxBytes), { path, ...reading }), [seen]);
  }

  /** A sandbox whose rewind was cut off is as its next run will begin. */
  async #see(view: StateView): Promise<Seen> {
    const { sandbox } = view;
    const { folders, template, facts, reach } = this.#options;
    const { below, rewindsTo, raises } = await readStack(sandbox);
    if (raises !== undefined) throw raisedMeanwhile(sandbox);
    const layers = view.layers ?? rewindsTo;
    const place = this.#options.place(sandbox);
    if (!layers) await reach(place.storage);
    const state = comparedState(sandbox, {
      place,
      template: await template(sandbox),
      isPresent: layers === undefined,
      below: (await facts(layers ?? below)).map((layer) => folders.filesOf(layer)),
    });
    return { state, sandbox, below };
  }
}

/** Where what is written was raised meanwhile, a part of it was looked for at its old place, or below layers that are gone. */
async function* whileUnraised<Value>(values: AsyncIterable<Value>, seen: readonly Seen[]): AsyncGenerator<Value> {
  try {
    yield* values;
  } catch (cause) {
    await assertUnraised(seen);
    throw cause;
  }
  await assertUnraised(seen);
}

async function assertUnraised(seen: readonly Seen[]): Promise<void> {
  for (const { state, sandbox, below } of seen)
    if (state.isPresent && (await readStack(sandbox)).below.join() !== below.join()) throw raisedMeanwhile(sandbox);
}

function raisedMeanwhile({ id }: Run): BelljarError {
  return new BelljarError("RUNTIME_UNAVAILABLE", `A checkpoint of sandbox ${id} was taken meanwhile: try again`);
}
