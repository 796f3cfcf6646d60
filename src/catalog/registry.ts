import { BelljarError } from "../errors.ts";
import type { Tool, ToolDescription, ToolSearch } from "./tool.ts";
import { ToolIndex } from "./tool-index.ts";
import { describeInScope, findRefusal, reachableTools, scopeKey, shownTools } from "./tool-scope.ts";
import type { ToolScope } from "./tool-scope.ts";

const NAME = /^[A-Za-z0-9_-]{1,40}$/;
const DESCRIPTION_MAX = 2_048;
/** Scopes come from tokens; more of them than this share the work of making their lists. */
const VIEWS_MAX = 256;

/** What one scope is shown; its parts are made once per change. */
interface View {
  readonly descriptions: readonly ToolDescription[];
  readonly pages: Map<number, Buffer>;
}

/** One part of a list, as the bytes of a JSON array. */
export interface ListPage {
  readonly bytes: Buffer;
  /** Where the next part starts; absent after the last. */
  readonly nextCursor?: string;
}

/** Hosts ask for a page after the other, so most lists are one. */
const PAGE_TOOLS = 1_000;

/** The tools by name. Each scope's list and its bytes are made once per change. */
export class ToolRegistry {
  readonly #tools = new Map<string, Tool>();
  readonly #listeners = new Set<() => void>();
  readonly #isDefault: (tool: Tool) => boolean;
  readonly #views = new Map<string, View>();
  #index: ToolIndex | undefined;

  constructor(tools: readonly Tool[], isDefault: (tool: Tool) => boolean = () => true) {
    this.#isDefault = isDefault;
    this.add(tools);
  }

  add(tools: readonly Tool[]): () => void {
    for (const [index, tool] of tools.entries()) this.#assertFits(tool, tools.slice(0, index));
    for (const tool of tools) this.#tools.set(tool.name, tool);
    this.#changed();
    return () => {
      for (const tool of tools) if (this.#tools.get(tool.name) === tool) this.#tools.delete(tool.name);
      this.#changed();
    };
  }

  has(name: string): boolean {
    return this.#tools.has(name);
  }

  /** Throws `TOOL_NOT_FOUND`, or `FORBIDDEN` for one that the scope does not have. */
  find(name: string, scope: ToolScope): Tool {
    const tool = this.#tools.get(name);
    if (!tool) throw new BelljarError("TOOL_NOT_FOUND", `No tool "${name.slice(0, 100)}"; list the tools to see which there are`);
    const refusal = findRefusal(tool, scope);
    if (refusal !== undefined) throw new BelljarError("FORBIDDEN", `The tool "${name}" is switched off here: ${refusal}`);
    return tool;
  }

  /** All that the scope has, shown or not. */
  reachable(scope: ToolScope): readonly ToolDescription[] {
    return reachableTools(this.#tools.values(), scope).map((tool) => describeInScope(tool, scope));
  }

  describe(name: string, scope: ToolScope): ToolDescription {
    return describeInScope(this.find(name, scope), scope);
  }

  search(query: string, limit: number, scope: ToolScope): Promise<ToolSearch> {
    this.#index ??= new ToolIndex([...this.#tools.values()].filter((tool) => tool.role !== "discovery"));
    return this.#index.search(query, limit, (tool) => findRefusal(tool, scope) === undefined);
  }

  descriptions(scope: ToolScope): readonly ToolDescription[] {
    return this.#view(scope).descriptions;
  }

  /** Throws `ARGUMENTS_INVALID` for a cursor that no list gave. */
  page(scope: ToolScope, cursor = "0"): ListPage {
    const { descriptions, pages } = this.#view(scope);
    const last = Math.max(0, Math.ceil(descriptions.length / PAGE_TOOLS) - 1);
    const number = /^[0-9]{1,6}$/.test(cursor) ? Number(cursor) : last + 1;
    if (number > last) throw invalid("The cursor is unknown: list again from the start");
    const bytes = pages.get(number) ?? serialise(descriptions, number);
    pages.set(number, bytes);
    return { bytes, ...(number < last && { nextCursor: String(number + 1) }) };
  }

  onChange(listener: () => void): () => void {
    // Wrapped, so that the same function given twice is two listeners.
    const entry = (): void => listener();
    this.#listeners.add(entry);
    return () => this.#listeners.delete(entry);
  }

  #view(scope: ToolScope): View {
    const key = scopeKey(scope);
    const known = this.#views.get(key);
    if (known) return known;
    const tools = shownTools(this.#tools.values(), scope, this.#isDefault);
    const view: View = { descriptions: tools.map((tool) => describeInScope(tool, scope)), pages: new Map() };
    if (this.#views.size >= VIEWS_MAX) this.#views.clear();
    this.#views.set(key, view);
    return view;
  }

  #assertFits(tool: Tool, before: readonly Tool[]): void {
    if (!NAME.test(tool.name)) throw invalid(`The tool name "${tool.name.slice(0, 100)}" must match ${NAME.source}`);
    if (tool.description.length >= DESCRIPTION_MAX)
      throw invalid(`The description of "${tool.name}" has ${DESCRIPTION_MAX} characters or more`);
    if (this.#tools.has(tool.name) || before.some(({ name }) => name === tool.name)) {
      throw invalid(`There is a tool "${tool.name}" already; choose another name`);
    }
  }

  #changed(): void {
    this.#views.clear();
    this.#index = undefined;
    for (const listener of this.#listeners) listener();
  }
}

function serialise(descriptions: readonly ToolDescription[], page: number): Buffer {
  return Buffer.from(JSON.stringify(descriptions.slice(page * PAGE_TOOLS, (page + 1) * PAGE_TOOLS)));
}

function invalid(message: string): BelljarError {
  return new BelljarError("ARGUMENTS_INVALID", message);
}
