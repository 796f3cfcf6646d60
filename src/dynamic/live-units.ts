import type { Caller, ChangeListener } from "../catalog/caller.ts";
import type { JsonSchemas } from "../catalog/json-schemas.ts";
import type { ToolSource } from "../catalog/tool-source.ts";
import type { Tool } from "../catalog/tool.ts";
import { listFirst } from "../catalog/unlisted.ts";
import { BelljarError } from "../errors.ts";
import type { Principal } from "../sandbox/sandbox.ts";
import type { UnitId } from "./store/unit-store.ts";
import { toToolName } from "./tool-name.ts";
import type { ReadTool, UnitHead } from "./unit.ts";
import { type LiveUnit, unitTool, type UnitToolParts } from "./unit-tool.ts";

interface LiveTools {
  readonly head: UnitHead;
  readonly tools: readonly Tool[];
  /** The unit's name, as callers would see a tool of that name. */
  readonly otherName: string;
  /** Its tool, if the code has no other one. */
  readonly only: Tool | undefined;
}

export interface LiveUnitsOptions extends Omit<UnitToolParts, "schemas"> {
  /** How many of a caller's tools a list shows; the others are found by a search. */
  readonly listMax: number;
  readonly report: (problem: string) => void;
}

/** What callers have of all units: their own live ones, and those that others share. Answers from memory. */
export class LiveUnits implements ToolSource {
  readonly #options: LiveUnitsOptions;
  /** By owner, then by the unit's name. */
  readonly #owners = new Map<string, Map<string, LiveTools>>();
  readonly #listeners = new Set<ChangeListener>();

  constructor(options: LiveUnitsOptions) {
    this.#options = options;
  }

  list({ principal }: Pick<Caller, "principal">): readonly Tool[] {
    const byName = new Map<string, Tool>();
    for (const tool of this.#toolsFor(principal)) if (!byName.has(tool.name)) byName.set(tool.name, tool);
    return listFirst(byName.values(), this.#options.listMax);
  }

  find({ principal }: Caller, name: string): Tool | undefined {
    for (const tool of this.#toolsFor(principal)) if (tool.name === name) return tool;
    return undefined;
  }

  /** A unit with one tool is called by its own name too. The caller's own units go before those that others share. */
  findOther({ principal: { id } }: Caller, name: string): Tool | undefined {
    const own = namedSo(this.#owners.get(id)?.values() ?? [], name);
    const [one, ...more] = own.length > 0 ? own : namedSo(this.#sharedWith(id), name);
    return more.length === 0 ? one?.only : undefined;
  }

  onChange(listener: ChangeListener): () => void {
    // Wrapped, so that the same function given twice is two listeners.
    const entry: ChangeListener = (ownerId) => listener(ownerId);
    this.#listeners.add(entry);
    return () => this.#listeners.delete(entry);
  }

  /** The owner's unit that has a tool of that name. */
  unitWith(owner: string, toolName: string): string | undefined {
    for (const [name, { tools }] of this.#owners.get(owner) ?? []) if (tools.some((tool) => tool.name === toolName)) return name;
    return undefined;
  }

  /** What callers have of the unit from now on. Undefined: nothing. A schema that cannot be used any more leaves its tool out. */
  set({ owner, name }: UnitId, given: { readonly unit: LiveUnit; readonly schemas: JsonSchemas } | undefined): void {
    const unit = given?.unit;
    const units = this.#owners.get(owner) ?? new Map<string, LiveTools>();
    const before = units.get(name);
    if (!before && !unit) return;
    const parts = given && { ...this.#options, schemas: given.schemas };
    const tools = (unit && parts && unit.version.tools.flatMap((read) => this.#toTool(parts, unit, read))) ?? [];
    const only = unit?.version.tools.length === 1 ? tools[0] : undefined;
    if (unit) units.set(name, { head: unit.head, tools, only, otherName: toToolName(name) });
    else units.delete(name);
    if (units.size > 0) this.#owners.set(owner, units);
    else this.#owners.delete(owner);
    const isShared = before?.head.isShared || unit?.head.isShared;
    for (const listener of this.#listeners) listener(isShared ? undefined : owner);
  }

  /** The caller's own go before those that others share. */
  *#toolsFor({ id }: Principal): Generator<Tool, void, undefined> {
    for (const { tools } of this.#owners.get(id)?.values() ?? []) yield* tools;
    for (const { tools } of this.#sharedWith(id)) yield* tools;
  }

  *#sharedWith(id: string): Generator<LiveTools, void, undefined> {
    for (const [owner, units] of this.#owners) {
      if (owner === id) continue;
      for (const unit of units.values()) if (unit.head.isShared) yield unit;
    }
  }

  #toTool(parts: UnitToolParts, unit: LiveUnit, read: ReadTool): readonly Tool[] {
    try {
      return [unitTool(parts, unit, read)];
    } catch (cause) {
      if (!(cause instanceof BelljarError)) throw cause;
      this.#options.report(`The tool "${read.name}" of ${unit.head.owner} is left out: ${cause.message}`);
      return [];
    }
  }
}

/** Units of exactly that name, else those whose names callers would see so. */
function namedSo(units: Iterable<LiveTools>, name: string): readonly LiveTools[] {
  const found = [...units].filter(({ head, otherName }) => head.name === name || otherName === name);
  const exact = found.filter(({ head }) => head.name === name);
  return exact.length > 0 ? exact : found;
}
