import { BelljarError } from "../../../errors.ts";
import type { Principal } from "../../../sandbox/sandbox.ts";

/** Whether what the principal adds needs nobody's approval. */
export function mayManage({ grants }: Principal): boolean {
  return grants === undefined || grants.managesServers === true;
}

/** Throws `FORBIDDEN`. */
export function assertMayManage(principal: Principal): void {
  if (mayManage(principal)) return;
  throw new BelljarError("FORBIDDEN", "This caller may not add, approve or remove MCP servers: use a token with the scope servers");
}
