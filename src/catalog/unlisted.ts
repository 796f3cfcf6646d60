import { toolTokens } from "./tool-tokens.ts";
import type { Tool } from "./tool.ts";

const UNLISTED = new WeakMap<Tool, Tool>();

/** `auto`: as far as there is room. `search`: never. */
export type Listing = "all" | "search" | "auto";

/** What a list shows of tools that are not built in. */
export interface ListRoom {
  readonly tools: number;
  readonly tokens: number;
}

/** What the tools of servers cost a context at most, unless an entry wants them in the list. */
export const LIST_TOKENS = 8_000;

/** The tools, of which lists show the first `listed` and a search finds the others. Each is the same object each time, so that callers with the same tools share their lists. */
export function listFirst(tools: Iterable<Tool>, listed: number): readonly Tool[] {
  return [...tools].map((tool, index) => (index < listed ? tool : unlisted(tool)));
}

/**
 * The tools, of which lists show those that are always listed, and as many of the others as there is room for beside them, in their order. One that
 * is too large for what is left makes room for those behind it. A search finds the rest. Each is the same object each time.
 */
export function listWithin(tools: readonly Tool[], listingOf: (tool: Tool) => Listing, room: ListRoom): readonly Tool[] {
  const listings = tools.map((tool) => listingOf(tool));
  const always = tools.filter((_tool, index) => listings[index] === "all");
  let left = room.tools - always.length;
  let tokens = always.reduce((sum, tool) => sum - toolTokens(tool), room.tokens);
  return tools.map((tool, index) => {
    const listing = listings[index];
    if (listing === "all") return tool;
    const isShown = listing === "auto" && left > 0 && tokens > 0 && toolTokens(tool) <= tokens;
    if (!isShown) return unlisted(tool);
    left -= 1;
    tokens -= toolTokens(tool);
    return tool;
  });
}

function unlisted(tool: Tool): Tool {
  const known = UNLISTED.get(tool) ?? { ...tool, isUnlisted: true as const };
  UNLISTED.set(tool, known);
  return known;
}
