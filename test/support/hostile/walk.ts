import { afterAll, beforeAll, expect } from "vitest";
import type { HostileCase, HostileLab } from "./hostile-lab.ts";
import { openHostileLab } from "./hostile-lab.ts";

/** Far beyond what a walk takes: a server that is held up is given the time to show it in every case. */
export const WALK_MS = 1_800_000;

/** One lab for the tests of a file. */
export function useHostileLab(): () => HostileLab {
  let lab: HostileLab | undefined;
  beforeAll(async () => {
    lab = await openHostileLab();
  }, WALK_MS);
  afterAll(() => lab?.[Symbol.asyncDispose](), WALK_MS);
  return () => {
    if (!lab) throw new TypeError("The lab opens before the first test");
    return lab;
  };
}

type CasesOf<Thing> = (thing: Thing) => Iterable<HostileCase> | AsyncIterable<HostileCase>;

/** What the walk of each thing found. One that drives nothing fails. */
export async function walk<Thing>(lab: HostileLab, things: Iterable<Thing>, casesOf: CasesOf<Thing>): Promise<readonly string[]> {
  const found: string[] = [];
  for (const thing of things) {
    const { driven, failures } = await lab.drive(casesOf(thing));
    expect(driven, String(thing)).toBeGreaterThan(0);
    found.push(...failures);
    await lab.restore();
  }
  return found;
}
