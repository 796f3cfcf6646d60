import type { Grants } from "../../sandbox/sandbox.ts";
import type { TokenStore } from "../auth/token-store.ts";

/** Whether the owner of a sandbox still has a key: what a revoked key has opened is closed within seconds. */
export interface OwnerKeys {
  /** What the valid keys of the owner grant that open E2B's surfaces and may change something. */
  of(owner: string): Promise<readonly Grants[]>;
}

/** The files of the tokens are read again after this time. */
const FRESH_MS = 2_000;
/** Owners that are remembered. */
const OWNERS_MAX = 1_000;

export function createOwnerKeys(tokens: Pick<TokenStore, "grantsOf">): OwnerKeys {
  const known = new Map<string, { readonly at: number; readonly grants: Promise<readonly Grants[]> }>();
  return {
    of(owner) {
      const found = known.get(owner);
      if (found && performance.now() - found.at < FRESH_MS) return found.grants;
      const grants = tokens.grantsOf(owner).then((all) => all.filter(({ surfaces, readOnly }) => surfaces?.includes("e2b") && !readOnly));
      known.delete(owner);
      known.set(owner, { at: performance.now(), grants });
      grants.catch(() => known.delete(owner));
      const [oldest] = known.keys();
      if (known.size > OWNERS_MAX && oldest !== undefined) known.delete(oldest);
      return grants;
    },
  };
}
