import { BelljarError } from "../errors.ts";
import type { Principal } from "../sandbox/sandbox.ts";
import type { Caller, ChangeListener } from "./caller.ts";
import { concerns } from "./caller.ts";
import { ToolIndex } from "./tool-index.ts";
import type { ToolSource } from "./tool-source.ts";
import type { Tool, ToolDescription } from "./tool.ts";

/** What one scope is shown of a shelf. */
export interface View {
  readonly descriptions: readonly ToolDescription[];
  readonly pages: Map<number, Buffer>;
  /** What the list does not show, for the instructions of a client. */
  readonly unlisted: string | undefined;
}

/** The tools of one caller, or of all callers that have the same, with what was made of them. */
export interface Shelf {
  readonly tools: readonly Tool[];
  /** By scope. */
  readonly views: Map<string, View>;
  readonly index: ToolIndex;
}

/** The maximum number of remembered callers. For a forgotten caller the lists are made again. */
const CALLERS_MAX = 512;

/**
 * The tools of all sources, composed for each caller. If two sources have a tool of one name, the earlier source's tool counts. Callers
 * with the same tools share a shelf and its pages. A caller with tools of its own has a shelf that nobody else reads.
 */
export class ToolShelves {
  readonly #sources: readonly ToolSource[];
  readonly #listeners = new Set<ChangeListener>();
  /** By id and grants, least recently used first. */
  readonly #callers = new Map<string, { readonly principal: Principal; readonly shelf: Shelf }>();

  constructor(sources: readonly ToolSource[]) {
    this.#sources = sources;
    for (const source of sources) source.onChange((ownerId) => this.changed(ownerId));
  }

  of(principal: Principal): Shelf {
    const key = JSON.stringify([principal.id, principal.grants]);
    const shelf = this.#callers.get(key)?.shelf ?? this.#find(this.#compose(principal));
    this.#callers.delete(key);
    this.#callers.set(key, { principal, shelf });
    for (const oldest of this.#callers.keys()) {
      if (this.#callers.size <= CALLERS_MAX) break;
      this.#callers.delete(oldest);
    }
    return shelf;
  }

  /** Asked of the sources anew, so that a call never finds what a list still remembers. */
  find(caller: Caller, name: string): Tool | undefined {
    for (const source of this.#sources) {
      const tool = source.find(caller, name);
      if (tool) return tool;
    }
    for (const source of this.#sources) {
      const tool = source.findOther?.(caller, name);
      if (tool) return tool;
    }
    return undefined;
  }

  /** The error for a name that `find` does not know. */
  notFound(caller: Caller, name: string): BelljarError {
    for (const source of this.#sources) {
      const why = source.whyNone?.(caller, name);
      if (why) return why;
    }
    return new BelljarError("TOOL_NOT_FOUND", `No tool "${name.slice(0, 100)}"; list the tools to see which there are`);
  }

  changed(ownerId?: string): void {
    for (const [key, { principal }] of this.#callers) if (concerns(ownerId, principal)) this.#callers.delete(key);
    for (const listener of this.#listeners) listener(ownerId);
  }

  onChange(listener: ChangeListener): () => void {
    // Wrapped, so that the same function given twice is two listeners.
    const entry: ChangeListener = (ownerId) => listener(ownerId);
    this.#listeners.add(entry);
    return () => this.#listeners.delete(entry);
  }

  #compose(principal: Principal): readonly Tool[] {
    const byName = new Map<string, Tool>();
    for (const source of this.#sources) {
      for (const tool of source.list({ principal })) if (!byName.has(tool.name)) byName.set(tool.name, tool);
    }
    return [...byName.values()];
  }

  #find(tools: readonly Tool[]): Shelf {
    for (const { shelf } of this.#callers.values()) if (isSame(shelf.tools, tools)) return shelf;
    return { tools, views: new Map(), index: new ToolIndex(tools.filter((tool) => tool.role !== "discovery")) };
  }
}

function isSame(some: readonly Tool[], others: readonly Tool[]): boolean {
  return some.length === others.length && some.every((tool, index) => tool === others[index]);
}
