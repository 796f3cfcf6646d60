import { describe, expect, it } from "vitest";
import type { LayerFacts } from "./layer-folders.ts";
import { gapsOf, merged, planMerge, tierAbove } from "./merge-plan.ts";

const isMergeable = ({ kind }: LayerFacts): boolean => kind === "home";

function layers(count: number, more: Partial<LayerFacts> = {}, name = "l"): readonly LayerFacts[] {
  return Array.from({ length: count }, (_, i) => ({ id: `${name}${i}`, kind: "home", overlays: ["root"], ...more }));
}

function ids(found: readonly LayerFacts[]): readonly string[] {
  return found.map(({ id }) => id);
}

describe("which layers become one", () => {
  it("is none of fewer than eight", () => {
    expect(planMerge(layers(7), { isMergeable, isFull: false })).toEqual([]);
  });

  it("is all neighbours of a tier, and none of another tier", () => {
    const below = [...layers(9), ...layers(3, { tier: 1 }, "t")];
    expect(ids(planMerge(below, { isMergeable, isFull: false }))).toEqual(ids(layers(9)));
    const high = [...layers(2), ...layers(8, { tier: 1 }, "t")];
    expect(ids(planMerge(high, { isMergeable, isFull: false }))).toEqual(ids(layers(8, {}, "t")));
    expect(tierAbove(layers(8, { tier: 1 }))).toBe(2);
  });

  it("is none of another storage, which also parts those above it from those below", () => {
    const below = [...layers(5), ...layers(1, { kind: "held" }, "h"), ...layers(5, {}, "m")];
    expect(planMerge(below, { isMergeable, isFull: false })).toEqual([]);
    expect(planMerge(layers(9, { kind: "held" }), { isMergeable, isFull: true })).toEqual([]);
  });

  it("of a full stack is the most that lie next to each other, of any tier", () => {
    const below = [...layers(2), ...layers(1, { kind: "held" }, "h"), ...layers(3, {}, "m"), ...layers(3, { tier: 1 }, "t")];
    expect(ids(planMerge(below, { isMergeable, isFull: true }))).toEqual(["m0", "m1", "m2", "t0", "t1", "t2"]);
    expect(planMerge(layers(1), { isMergeable, isFull: true })).toEqual([]);
  });

  it("keeps the height of ten thousand raises below forty, and goes through each layer a few times", () => {
    let below: readonly LayerFacts[] = [];
    let [height, gone] = [0, 0];
    for (let i = 0; i < 10_000; i++) {
      below = [{ id: `raised${i}`, kind: "home", overlays: ["root"] }, ...below];
      const of = planMerge(below, { isMergeable, isFull: false });
      height = Math.max(height, below.length);
      if (of.length === 0) continue;
      gone += of.length;
      const one = { id: `merged${i}`, kind: "home", overlays: ["root"], tier: tierAbove(of) } as const;
      const whole = new Map([...below, one].map((layer) => [layer.id, layer]));
      below = merged(ids(below), { layer: one.id, of: ids(of) }).map((id) => whole.get(id) ?? one);
    }
    expect(height).toBeLessThan(40);
    expect(gone).toBeLessThan(2 * 10_000);
  });
});

describe("where the layers are that one takes the place of", () => {
  const below: readonly LayerFacts[] = [
    { id: "a", kind: "home", overlays: ["root", "usr"] },
    { id: "b", kind: "home", overlays: ["root"] },
    { id: "c", kind: "home", overlays: ["root", "usr"] },
    { id: "d", kind: "home", overlays: ["usr", "workspace"] },
    { id: "e", kind: "home", overlays: ["root"] },
  ];

  it("is counted for each overlay", () => {
    expect(gapsOf(below, { layer: "m", of: ["b", "c", "d"] })).toEqual({
      layer: "m",
      gaps: [
        { overlay: "root", above: 1, count: 2 },
        { overlay: "usr", above: 1, count: 2 },
        { overlay: "workspace", above: 0, count: 1 },
      ],
    });
    expect(merged(ids(below), { layer: "m", of: ["b", "c", "d"] })).toEqual(["a", "m", "e"]);
  });

  it("is nowhere in a stack that has them no more, or in another order", () => {
    for (const of of [["x"], ["b", "d"], ["c", "b"], ["e", "f"]]) expect(gapsOf(below, { layer: "m", of })).toBeUndefined();
  });
});
