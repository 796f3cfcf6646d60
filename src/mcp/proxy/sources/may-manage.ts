import { BelljarError } from "../../../errors.ts";
import type { Principal } from "../../../sandbox/sandbox.ts";
import type { McpServerDetails } from "../hub-server.ts";

/** Whether what the principal adds needs nobody's approval. */
export function mayManage({ grants }: Principal): boolean {
  return grants === undefined || grants.managesServers === true;
}

/** Throws `FORBIDDEN`. */
export function assertMayManage(principal: Principal): void {
  if (mayManage(principal)) return;
  throw new BelljarError("FORBIDDEN", "This caller may not add, approve or remove MCP servers: use a token with the scope servers");
}

/**
 * Throws `FORBIDDEN` for a caller who may not manage servers, and for one without a token, which any program of the machine is, and a server that a
 * person named at the machine: whoever logs in there decides to whose account its callers write.
 */
export function assertMayLogIn(
  principal: Principal,
  { name, isOfNetwork }: { readonly name: string; readonly isOfNetwork: boolean },
): void {
  assertMayManage(principal);
  if (!principal.isAnybody || isOfNetwork) return;
  const advice = `use \`belljar server login ${name}\` at the machine`;
  throw new BelljarError("FORBIDDEN", `The MCP server "${name}" was named at the machine, and nobody logs in to it over HTTP: ${advice}`);
}

/**
 * Throws `FORBIDDEN` for a caller without a token, which any program of the machine is, and a server that reaches the machine: one of the named file, one
 * without a sandbox, or one that sees a folder of the host.
 */
export function assertMayApprove(
  { isAnybody }: Principal,
  { name, transport, isolation, mount }: McpServerDetails,
  isOfFile: boolean,
): void {
  const isBare = transport === "stdio" && isolation === "none";
  if (!isAnybody || !(isOfFile || isBare || mount)) return;
  const advice = `use \`belljar server approve ${name}\` at the machine, without BELLJAR_URL`;
  throw new BelljarError("FORBIDDEN", `The MCP server "${name}" reaches the machine, and is not approved over HTTP: ${advice}`);
}
