import type { Grants, Principal } from "../../../sandbox/sandbox.ts";

const OWNERS_MAX = 10_000;
/** Sets of scopes of one owner. */
const GRANTS_MAX = 16;

/**
 * What the access tokens that this process has let in grant until they expire. An issuer tells nobody what it has granted, so a token that
 * was never shown here counts for nothing.
 */
export interface SeenTokens {
  note(principal: Principal, expiresAt: Date): void;
  /** Of those that are valid still. */
  grantsOf(owner: string): readonly Grants[];
}

interface Seen {
  readonly grants: Grants;
  readonly expiresMs: number;
}

/** Bounded: the owners that were seen longest ago are forgotten first. */
export function createSeenTokens(now: () => number = Date.now): SeenTokens {
  const owners = new Map<string, Map<string, Seen>>();
  return {
    note({ id, grants = {} }, expiresAt) {
      const seen = owners.get(id) ?? new Map<string, Seen>();
      owners.delete(id);
      owners.set(id, seen);
      const key = JSON.stringify(grants);
      const expiresMs = Math.max(expiresAt.getTime(), seen.get(key)?.expiresMs ?? 0);
      seen.delete(key);
      seen.set(key, { grants, expiresMs });
      forgetFirst(seen, GRANTS_MAX);
      forgetFirst(owners, OWNERS_MAX);
    },
    grantsOf: (owner) => [...(owners.get(owner)?.values() ?? [])].flatMap(({ grants, expiresMs }) => (expiresMs > now() ? [grants] : [])),
  };
}

function forgetFirst(map: Map<string, unknown>, most: number): void {
  const [first] = map.keys();
  if (map.size > most && first !== undefined) map.delete(first);
}
