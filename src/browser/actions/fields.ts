import * as z from "zod";

export const TEXT_MAX = 262_144;
const SELECTOR_MAX = 4_096;
const REF_MAX = 20;
export const ACTION_MAX_MS = 50_000;

/** What a snapshot calls an element. */
export const ref = z.string().max(REF_MAX).optional();
/** Of CSS, or one of playwright's own kinds, as `text=Save`. */
export const selector = z.string().max(SELECTOR_MAX).optional();

/** An element. */
export const ELEMENT_FIELDS = { ref, selector };

/** An element, or a point in pixels of the viewport. */
export const TARGET_FIELDS = { ...ELEMENT_FIELDS, coordinate_x: z.number().optional(), coordinate_y: z.number().optional() };

export const timeoutMs = z.number().int().min(1).max(ACTION_MAX_MS).optional();

const Element = z.object(ELEMENT_FIELDS);
export type ElementArgs = z.infer<typeof Element>;
const Target = z.object(TARGET_FIELDS);
export type TargetArgs = z.infer<typeof Target>;

/** Why the arguments do not name one target; undefined if they do. `isOptional`: or none. */
export function findTargetProblem(args: TargetArgs, { isOptional = false } = {}): string | undefined {
  const { ref: byRef, selector: bySelector, coordinate_x: x, coordinate_y: y } = args;
  if ((x === undefined) !== (y === undefined)) return "coordinate_x and coordinate_y belong together";
  const ways = [byRef, bySelector, x].filter((way) => way !== undefined).length;
  if (ways > 1) return "name one of ref, selector and coordinates";
  return ways === 0 && !isOptional ? "name what it is done to by ref, selector or coordinates" : undefined;
}
