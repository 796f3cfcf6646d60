import { join } from "node:path";
import { mapLimit } from "../../../async/map-limit.ts";
import { encodeHead } from "../../../protocol/head.ts";
import { OPERATION } from "../../../protocol/wire.ts";
import type { UnpackedLayer, UnpackRequest } from "../../contract/state-store.ts";
import { type JailPaths, placeFields } from "../jail-spec.ts";
import type { LayerFiles } from "../jail-steps.ts";
import type { LayerFlusher } from "./layer-flusher.ts";
import type { LayerFacts, LayerFolders } from "./layer-folders.ts";
import { type LayerJobs, lowerLayers } from "./layer-jobs.ts";
import { IMAGE_TIER, overlaysOf } from "./merge-plan.ts";
import { unpackArchive } from "./unpack-archive.ts";

/** The overlay whose files an image has. */
const OVERLAY = "root";
const PARALLEL = 8;

export interface UnpackedLayersOptions {
  readonly binary: string;
  /** Of the machine. */
  readonly boot: string;
  readonly folders: LayerFolders;
  readonly flusher: LayerFlusher;
  readonly jobs: Pick<LayerJobs, "run">;
  /** Of a job that works on no sandbox. */
  readonly place: (id: string) => JailPaths;
}

/** Frozen layers of what the layers of images hold. They lie in the home, and sandboxes of every storage start on them. */
export class UnpackedLayers {
  readonly #options: UnpackedLayersOptions;

  constructor(options: UnpackedLayersOptions) {
    this.#options = options;
  }

  /** Fills a layer that was begun, and finishes it. What a rejection leaves of it is the caller's to remove. */
  async make(layer: Pick<LayerFacts, "id" | "kind">, request: UnpackRequest, signal: AbortSignal): Promise<UnpackedLayer> {
    const { binary, boot, folders, flusher } = this.#options;
    const place = this.#options.place(layer.id);
    const spec = this.#encode(layer, await this.#roots(request.below ?? []), request);
    const counts = await unpackArchive(binary, { tar: request.tar, spec }, signal);
    await folders.finish({ ...layer, overlays: counts.entries > 0 ? [OVERLAY] : [], boot, tier: IMAGE_TIER });
    if (request.durable) await flusher.frozen(place, [layer.id], signal);
    else flusher.soon(place);
    return { layer: layer.id, ...counts };
  }

  /** Fills a layer that was begun with what others have, and finishes it. What a rejection leaves of it is the caller's to remove. */
  async merge(layer: Pick<LayerFacts, "id" | "kind">, of: readonly string[], signal: AbortSignal): Promise<void> {
    const { boot, folders, flusher, jobs } = this.#options;
    const below = await mapLimit(of, PARALLEL, (id) => folders.facts(id));
    const place = this.#options.place(layer.id);
    const paths = { folder: folders.folder(layer.id), files: folders.files(layer) };
    await jobs.run({ kind: "merge", place, layer: paths, below: below.map((one) => folders.filesOf(one)) }, signal);
    await folders.finish({ ...layer, overlays: overlaysOf(below), boot, tier: IMAGE_TIER });
    flusher.soon(place);
  }

  /** Where the files of layers of images lie. */
  async #roots(layers: readonly string[]): Promise<readonly LayerFiles[]> {
    const { folders } = this.#options;
    const facts = await mapLimit(layers, PARALLEL, (id) => folders.facts(id));
    const full = facts.filter(({ overlays }) => overlays.includes(OVERLAY));
    return full.map((one) => ({ ...folders.filesOf(one), files: join(folders.files(one), OVERLAY, "upper") }));
  }

  #encode(layer: Pick<LayerFacts, "id" | "kind">, below: readonly LayerFiles[], { maxBytes, maxEntries }: UnpackRequest): Buffer {
    const { folders, place } = this.#options;
    return encodeHead(OPERATION.JAIL, [
      ...placeFields(place(layer.id)),
      ["PATH", folders.folder(layer.id)],
      ["TARGET", folders.files(layer)],
      ["LIMIT_DISK", maxBytes],
      ["LIMIT_FILES", maxEntries],
      ...lowerLayers(below),
    ]);
  }
}
