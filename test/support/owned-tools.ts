import type { ChangeListener } from "../../src/catalog/caller.ts";
import type { ToolSource } from "../../src/catalog/tool-source.ts";
import type { Tool } from "../../src/catalog/tool.ts";

/** A source whose tools a test changes, each owner's and everybody's. */
export interface OwnedTools extends ToolSource {
  /** Gives an owner other tools than before; without an owner, everybody. */
  set(tools: readonly Tool[], ownerId?: string): void;
}

export function createOwnedTools(): OwnedTools {
  const listeners = new Set<ChangeListener>();
  const owned = new Map<string | undefined, readonly Tool[]>();
  const toolsOf = (id: string): readonly Tool[] => [...(owned.get(undefined) ?? []), ...(owned.get(id) ?? [])];
  return {
    list: ({ principal }) => toolsOf(principal.id),
    find: ({ principal }, name) => toolsOf(principal.id).find((tool) => tool.name === name),
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    set(tools, ownerId) {
      owned.set(ownerId, tools);
      for (const listener of listeners) listener(ownerId);
    },
  };
}
