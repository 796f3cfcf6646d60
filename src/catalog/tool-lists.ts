import { BelljarError } from "../errors.ts";
import type { Principal } from "../sandbox/sandbox.ts";
import type { Caller } from "./caller.ts";
import type { Tool, ToolDescription, ToolSearch } from "./tool.ts";
import { tellUnlisted } from "./tell-unlisted.ts";
import { describeInScope, findRefusal, reachableTools, scopeKey, shownTools } from "./tool-scope.ts";
import type { ToolScope } from "./tool-scope.ts";
import type { ToolShelves, View } from "./tool-shelves.ts";

/** Scopes come from tokens; more of them than this share the work of making their lists. */
const VIEWS_MAX = 256;

/** One part of a list, as the bytes of a JSON array. */
export interface ListPage {
  readonly bytes: Buffer;
  /** Where the next part starts; absent after the last. */
  readonly nextCursor?: string;
}

/** Hosts ask for a page after the other, so most lists are one. */
const PAGE_TOOLS = 1_000;

export interface ToolListsOptions {
  readonly shelves: ToolShelves;
  readonly scopeOf: (principal: Principal) => ToolScope;
  readonly isDefault: (tool: Tool) => boolean;
}

/** What a principal finds and is shown of the tools that it has. Each scope's list and its bytes are made once per change. */
export class ToolLists {
  readonly #options: ToolListsOptions;

  constructor(options: ToolListsOptions) {
    this.#options = options;
  }

  has(caller: Caller, name: string): boolean {
    return this.#options.shelves.find(caller, name) !== undefined;
  }

  /** Throws `TOOL_NOT_FOUND`, or what a source knows of the name, and `FORBIDDEN` for one that the principal's scope does not have. */
  find(caller: Caller, name: string): Tool {
    const { shelves, scopeOf } = this.#options;
    const { principal } = caller;
    const tool = shelves.find(caller, name);
    if (!tool) throw shelves.notFound(caller, name);
    const refusal = findRefusal(tool, scopeOf(principal));
    if (refusal !== undefined) throw new BelljarError("FORBIDDEN", `The tool "${name}" is switched off here: ${refusal}`);
    return tool;
  }

  /** All that the principal has, shown or not. */
  reachable(principal: Principal): readonly ToolDescription[] {
    const scope = this.#options.scopeOf(principal);
    return this.reachableTools(principal).map((tool) => describeInScope(tool, scope));
  }

  reachableTools(principal: Principal): readonly Tool[] {
    return reachableTools(this.#options.shelves.of(principal).tools, this.#options.scopeOf(principal));
  }

  describe(principal: Principal, name: string): ToolDescription {
    return describeInScope(this.find({ principal }, name), this.#options.scopeOf(principal));
  }

  search(principal: Principal, query: string, limit: number): Promise<ToolSearch> {
    const scope = this.#options.scopeOf(principal);
    return this.#options.shelves.of(principal).index.search(query, limit, (tool) => findRefusal(tool, scope) === undefined);
  }

  shown(principal: Principal): readonly ToolDescription[] {
    return this.#view(principal).descriptions;
  }

  /** Of other servers' tools, in one line. */
  tellUnlisted(principal: Principal): string | undefined {
    return this.#view(principal).unlisted;
  }

  /** Throws `ARGUMENTS_INVALID` for a cursor that no list gave. */
  page(principal: Principal, cursor = "0"): ListPage {
    const { descriptions, pages } = this.#view(principal);
    const last = Math.max(0, Math.ceil(descriptions.length / PAGE_TOOLS) - 1);
    const number = /^[0-9]{1,6}$/.test(cursor) ? Number(cursor) : last + 1;
    if (number > last) throw new BelljarError("ARGUMENTS_INVALID", "The cursor is unknown: list again from the start");
    const bytes = pages.get(number) ?? serialise(descriptions, number);
    pages.set(number, bytes);
    return { bytes, ...(number < last && { nextCursor: String(number + 1) }) };
  }

  #view(principal: Principal): View {
    const { shelves, scopeOf, isDefault } = this.#options;
    const { tools, views } = shelves.of(principal);
    const scope = scopeOf(principal);
    const key = scopeKey(scope);
    const known = views.get(key);
    if (known) return known;
    const shown = shownTools(tools, scope, isDefault);
    const view: View = {
      descriptions: shown.map((tool) => describeInScope(tool, scope)),
      pages: new Map(),
      unlisted: tellUnlisted(reachableTools(tools, scope), shown),
    };
    if (views.size >= VIEWS_MAX) views.clear();
    views.set(key, view);
    return view;
  }
}

function serialise(descriptions: readonly ToolDescription[], page: number): Buffer {
  return Buffer.from(JSON.stringify(descriptions.slice(page * PAGE_TOOLS, (page + 1) * PAGE_TOOLS)));
}
