import { BelljarError } from "../../errors.ts";
import type { Principal } from "../../sandbox/sandbox.ts";

/** Who may call tools here is the catalog's to say, call by call. */
export const TOOL_DOORS: ReadonlySet<string> = new Set(["/mcp", "/messages", "/tools/call", "/mcp/tools/call"]);
/** What these routes do is what the tools of this toolset do. */
const SANDBOXES = /^\/v1\/(sandboxes|default-sandboxes)(\/|$)/;

/**
 * Holds the scopes of a token for requests that are no tool calls: one that only reads sends nothing but GET, and one of other toolsets
 * leaves sandboxes alone. Throws `FORBIDDEN`. A stream to a guest is as good as every tool, and counts as a POST.
 */
export function assertRouteGranted({ grants = {} }: Principal, method: string, route: string): void {
  const isReading = method === "GET" || method === "HEAD";
  if (grants.readOnly && !isReading && !TOOL_DOORS.has(route)) throw refused("may only read");
  if (grants.toolsets && !grants.toolsets.includes("sandbox") && SANDBOXES.test(route)) throw refused("has no scope toolset:sandbox");
}

function refused(why: string): BelljarError {
  return new BelljarError("FORBIDDEN", `This token ${why}: use tools that it may call, or a token with wider scopes`);
}
