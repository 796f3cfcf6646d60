import type { UnitSpec, UnitVersion, VersionHead } from "./unit.ts";

/** The spec as a run of it that reaches nothing. */
export function closed({ network: _network, secrets: _secrets, ...spec }: UnitSpec): UnitSpec {
  return spec;
}

/** What the head of a unit keeps of a version. */
export function toHead({ number, createdAt, lock }: UnitVersion, isLive: boolean): VersionHead {
  return {
    number,
    createdAt,
    isTested: isLive,
    ...(isLive && { wasLive: true }),
    ...(lock && { packages: { wish: lock.wish, key: lock.key } }),
  };
}
