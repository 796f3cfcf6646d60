import { BelljarError } from "../../../errors.ts";
import { assertNetworkGranted, assertWorkspaceGranted } from "../../../sandbox/grants.ts";
import { LOCAL, type Principal } from "../../../sandbox/sandbox.ts";
import type { HubServer } from "../hub-server.ts";
import { ruleOfUrl } from "../server-way.ts";

/** Rejects with `FORBIDDEN` for a server that the principal may not have. */
export async function assertMayHave(principal: Principal, server: HubServer): Promise<void> {
  const { name, settings } = server;
  const { mount, network } = settings;
  if (mount && !principal.grants)
    throw forbiddenField(
      name,
      "mounts",
      "over HTTP it needs a token with the scope workspaces; at the machine use `belljar server add` without BELLJAR_URL",
    );
  if (mount) assertWorkspaceGranted({ path: mount.host, mode: mount.mode }, principal);
  await assertNetworkGranted(network, principal);
  const isChecked = server.isOfNetwork && settings.reaches === undefined;
  if (isChecked && server.target.kind !== "stdio") await assertUrlGranted(principal, name, server.target.url);
}

/** Rejects with `FORBIDDEN` for an address that is beyond what the principal's sandboxes may reach. */
async function assertUrlGranted(principal: Principal, name: string, url: URL): Promise<void> {
  const most = principal.grants?.network ?? "all";
  const { narrows } = await import("../../../network/check-policy.ts");
  const rule = ruleOfUrl(url);
  if (most !== "all" && !narrows({ allow: [rule] }, most))
    throw forbiddenField(name, "url", `this token reaches it with the scope network:${rule}, which it does not have`);
  await assertNetworkGranted(most === "all" ? { allow: [rule] } : "none", principal);
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
