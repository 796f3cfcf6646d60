import { hasToolset } from "../../../sandbox/grants.ts";
import type { Principal } from "../../../sandbox/sandbox.ts";
import { PROXIED_TOOLSET } from "../proxied-tool.ts";

/** Whether the principal may see what other servers have beside tools. To others there is nothing. */
export function mayRelay(principal: Principal): boolean {
  return hasToolset(principal, PROXIED_TOOLSET);
}
