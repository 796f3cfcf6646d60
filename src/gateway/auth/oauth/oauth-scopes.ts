import type { Grants } from "../../../sandbox/sandbox.ts";
import { parseScopes } from "../scopes.ts";

const OURS = "belljar";
/** What the metadata offers to clients: those that need no value. */
export const OFFERED_SCOPES = [OURS, `${OURS}:read-only`, `${OURS}:workspaces`] as const;

/**
 * What an access token's scopes grant: `belljar` lets its holder in, and `belljar:SCOPE` both lets in and narrows as a token's own scope
 * does. Scopes of other resources are not looked at, so that none of them, as a common `workspaces`, grants anything here.
 * Undefined when none is for Belljar. Throws `ARGUMENTS_INVALID` for one that is and is not known.
 */
export function grantsOfScopes(scopes: readonly string[]): Grants | undefined {
  const ours = scopes.filter((scope) => scope === OURS || scope.startsWith(`${OURS}:`));
  if (ours.length === 0) return undefined;
  return parseScopes(ours.filter((scope) => scope !== OURS).map((scope) => scope.slice(OURS.length + 1)));
}
