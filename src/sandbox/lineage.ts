import * as z from "zod";
import { dateField } from "./wire/fields.ts";

/** More generations are forgotten, the oldest first. */
const LINEAGE_MAX = 64;

const ancestor = z.object({
  /** The sandbox whose state it was. That may have ended. */
  sandbox: z.string(),
  at: dateField,
  /** The topmost first. */
  layers: z.array(z.string()).readonly(),
});

export const lineageSchema = z.array(ancestor).readonly();

/** States that a sandbox comes from, each of another sandbox, the nearest first. */
export type Lineage = z.output<typeof lineageSchema>;

/** Of a sandbox that begins with this state. */
export function lineageFrom(state: Lineage[number], before: Lineage = []): Lineage {
  return [state, ...before].slice(0, LINEAGE_MAX);
}

interface Descendant {
  readonly id: string;
  readonly lineage?: Lineage | undefined;
}

/**
 * The layers of the last state that both have had: of a fork and its parent what the fork began with, of two sisters what the older one
 * began with. Undefined if they have none in common.
 */
export function sharedState(one: Descendant, other: Descendant): readonly string[] | undefined {
  const ofOther = new Map([{ sandbox: other.id }, ...(other.lineage ?? [])].toReversed().map((state) => [state.sandbox, state]));
  for (const mine of [{ sandbox: one.id }, ...(one.lineage ?? [])]) {
    const theirs = ofOther.get(mine.sandbox);
    if (theirs) return older(mine, theirs);
  }
  return undefined;
}

type State = { readonly sandbox: string } & Partial<Lineage[number]>;

/** A sandbox itself goes on, so that each state of it is older. */
function older(one: State, other: State): readonly string[] | undefined {
  const [first] = [one, other].toSorted((a, b) => (a.at?.getTime() ?? Infinity) - (b.at?.getTime() ?? Infinity));
  return first?.layers;
}
