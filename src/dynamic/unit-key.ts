import type { UnitId } from "./store/unit-store.ts";

/** The same text for the same unit, for maps. */
export function keyOf({ owner, name }: UnitId): string {
  return JSON.stringify([owner, name]);
}
