import { BelljarError } from "../../../errors.ts";
import { assertNetworkGranted, assertWorkspaceGranted } from "../../../sandbox/grants.ts";
import { LOCAL, type Principal } from "../../../sandbox/sandbox.ts";
import type { HubServer } from "../hub-server.ts";

/** Rejects with `FORBIDDEN` for a server that the principal may not have. */
export async function assertMayHave(principal: Principal, { name, settings: { mount, network } }: HubServer): Promise<void> {
  if (mount && !principal.grants)
    throw forbiddenField(
      name,
      "mounts",
      "over HTTP it needs a token with the scope workspaces; at the machine use `belljar server add` without BELLJAR_URL",
    );
  if (mount) assertWorkspaceGranted({ path: mount.host, mode: mount.mode }, principal);
  await assertNetworkGranted(network, principal);
}

/**
 * Rejects with `FORBIDDEN` for a caller who may not use an owner's server: another token of the owner may have had more than this one. The local
 * user's servers are used by whoever sees them.
 */
export async function assertMayUse(owner: string, caller: Principal, server: HubServer): Promise<void> {
  if (owner !== LOCAL.id) await assertMayHave(caller, server);
}

export function forbiddenField(name: string, field: string, why: string): BelljarError {
  return new BelljarError("FORBIDDEN", `The MCP server "${name}", ${field}: ${why}`);
}
