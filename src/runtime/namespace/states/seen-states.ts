import { BelljarError } from "../../../errors.ts";
import type { Run } from "../../contract/run.ts";
import type { Base } from "../../contract/sandbox-spec.ts";
import type { StateChange, StateReading, StateView } from "../../contract/state-store.ts";
import type { JailPaths } from "../jail-spec.ts";
import { frozenLayers, rootLayers } from "../jail-steps.ts";
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
  /** For a look at layers that are of no sandbox. */
  readonly nowhere: (layer: string) => JailPaths;
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

  /** Each layer against those below it: a look at two stacks is only at what the one has more. */
  async measure(layers: readonly string[], template: string, { maxBytes, signal }: StateReading): Promise<number> {
    let bytes = 0;
    for (const at of layers.keys()) {
      const [before, after] = [await this.#seeLayers(layers, at + 1, template), await this.#seeLayers(layers, at, template)];
      for (const [index, state] of after.entries())
        for await (const change of compareStates(this.#options.binary, encodeComparison(before[index]!, state), signal)) {
          bytes += change.after?.type === "file" ? change.after.size : 0;
          if (bytes > maxBytes) return bytes;
        }
    }
    return bytes;
  }

  /** What a sandbox shows of some of the layers, and each of their other overlays by itself, as of a workspace, over the same template. */
  async #seeLayers(layers: readonly string[], from: number, name: string): Promise<readonly ComparedState[]> {
    const { folders, template, facts, nowhere } = this.#options;
    const base = await template({ template: name });
    const all = (await facts(layers)).map((layer) => folders.filesOf(layer));
    const below = all.slice(from);
    const shown = comparedState({ inside: base.folders }, { place: nowhere(layers[0]!), template: base, isPresent: false, below });
    const names = new Set(all.flatMap(({ overlays }) => overlays));
    for (const overlay of shown.overlays) names.delete(overlay.name);
    const layersOf = (overlay: string) => [...frozenLayers(below, overlay), ...rootLayers(base)];
    const others = [...names].map((overlay) => ({ target: "/", name: overlay, layers: layersOf(overlay) }));
    return [shown, ...others.map((overlay) => ({ ...shown, overlays: [overlay], mounts: [] }))];
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
