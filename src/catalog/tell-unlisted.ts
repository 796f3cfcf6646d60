import type { Tool } from "./tool.ts";

const SERVERS_SHOWN = 10;
const NAME_MAX = 40;

/** How many tools of other servers the list does not show, and from where, in one line. Undefined if it shows all. */
export function tellUnlisted(reachable: readonly Tool[], shown: readonly Tool[]): string | undefined {
  const listed = new Set(shown);
  const counts = new Map<string, number>();
  for (const tool of reachable) if (tool.from && !listed.has(tool)) counts.set(tool.from.server, (counts.get(tool.from.server) ?? 0) + 1);
  if (counts.size === 0) return undefined;
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const servers = [...counts]
    .slice(0, SERVERS_SHOWN)
    .map(([name, count]) => `${name.slice(0, NAME_MAX).replaceAll(/[^\p{L}\p{N}_. -]/gu, "_")} ${count}`);
  const more = counts.size - servers.length;
  const from = [...servers, ...(more > 0 ? [`${more} more servers`] : [])].join(", ");
  return `${total} tools of MCP servers are in no list: find them with search_tools, then describe_tool and call_tool. They are of: ${from}.`;
}
