import type { Tool } from "./tool.ts";

const UNLISTED = new WeakMap<Tool, Tool>();

/** The tools, of which lists show the first `listed` and a search finds the others. Each is the same object each time, so that callers with the same tools share their lists. */
export function listFirst(tools: Iterable<Tool>, listed: number): readonly Tool[] {
  return [...tools].map((tool, index) => (index < listed ? tool : unlisted(tool)));
}

function unlisted(tool: Tool): Tool {
  const known = UNLISTED.get(tool) ?? { ...tool, isUnlisted: true as const };
  UNLISTED.set(tool, known);
  return known;
}
