import type { Gap, MergedGaps } from "../../guest/keeper-client.ts";
import type { LayerFacts } from "./layer-folders.ts";

/** So many neighbours of one tier become one layer of the next. */
const TIER_WIDTH = 8;
/** Of layers of images. No sandbox merges them: their files are many, and all sandboxes of an image share them. */
export const IMAGE_TIER = 1_000;

/**
 * The layers of a stack that one layer is to show, the topmost first; none: the stack is low enough. Every layer of a tier stands for as many
 * raises as any other, so that what was written is gone through once for each power of eight raises, and not with each merge. `isMergeable`:
 * whether it lies on the storage of the sandbox. With `isFull`, any neighbours will do.
 */
export function planMerge(
  below: readonly LayerFacts[],
  { isMergeable, isFull }: { readonly isMergeable: (layer: LayerFacts) => boolean; readonly isFull: boolean },
): readonly LayerFacts[] {
  const wide = runsOf(below, (one, other) => isMergeable(one) && isMergeable(other) && tierOf(one) === tierOf(other)).find(
    ({ length }) => length >= TIER_WIDTH,
  );
  if (wide ?? !isFull) return wide ?? [];
  const [longest = []] = runsOf(below, (one, other) => isMergeable(one) && isMergeable(other)).toSorted((a, b) => b.length - a.length);
  return longest.length > 1 ? longest : [];
}

/** The tier of a layer that shows these. */
export function tierAbove(layers: readonly LayerFacts[]): number {
  return 1 + Math.max(...layers.map(tierOf));
}

export function overlaysOf(layers: readonly LayerFacts[]): readonly string[] {
  return [...new Set(layers.flatMap(({ overlays }) => overlays))];
}

/** Where the layers are that `layer` takes the place of. Undefined: the stack does not have them, next to each other. */
export function gapsOf(
  below: readonly LayerFacts[],
  { layer, of }: { readonly layer: string; readonly of: readonly string[] },
): MergedGaps | undefined {
  const from = below.findIndex(({ id }) => id === of[0]);
  const filled = below.slice(from, from + of.length);
  if (from < 0 || filled.length < of.length || filled.some(({ id }, index) => id !== of[index])) return undefined;
  const has = (layers: readonly LayerFacts[], overlay: string): number =>
    layers.filter(({ overlays }) => overlays.includes(overlay)).length;
  const gaps = overlaysOf(filled).map((overlay): Gap => ({
    overlay,
    above: has(below.slice(0, from), overlay),
    count: has(filled, overlay),
  }));
  return { layer, gaps };
}

/** The stack with the one in the place of the others. */
export function merged(
  below: readonly string[],
  { layer, of }: { readonly layer: string; readonly of: readonly string[] },
): readonly string[] {
  return below.flatMap((id) => (id === of[0] ? [layer] : of.includes(id) ? [] : [id]));
}

export function tierOf({ tier = 0 }: LayerFacts): number {
  return tier;
}

function runsOf<Item>(items: readonly Item[], belongs: (one: Item, other: Item) => boolean): readonly (readonly Item[])[] {
  const runs: Item[][] = [];
  for (const item of items) {
    const last = runs.at(-1);
    const before = last?.at(-1);
    if (last && before !== undefined && belongs(before, item)) last.push(item);
    else runs.push([item]);
  }
  return runs;
}
