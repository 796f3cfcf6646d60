import type { Tool, ToolDescription } from "./tool.ts";
import { describeTool } from "./description.ts";

/** Which tools a caller has, and which of them its list shows. What it has and is not shown is reached by search. */
export interface ToolScope {
  /**
   * Absent: every toolset, of which the list shows the default tools. Names: these toolsets alone, all shown. `all`: every one, all
   * shown. Only built-in tools are in toolsets; dynamic and proxied ones are there in every case.
   */
  readonly toolsets?: readonly string[] | "all";
  /** The toolsets of the caller's token; absent: it has all. These narrow dynamic and proxied tools too. */
  readonly granted?: readonly string[];
  /** Leaves the tools that only read. */
  readonly readOnly?: boolean;
  /** Tools that the caller cannot use now, each with the reason, as the end of a sentence. */
  readonly without?: Readonly<Record<string, string>>;
}

/** Everything, shown as by default. */
export const WHOLE_SCOPE: ToolScope = {};

/** What hosts take of one list. */
const SHOWN_MAX = 128;

/** The tools of the scope, in their order. */
export function reachableTools(tools: Iterable<Tool>, scope: ToolScope): readonly Tool[] {
  return [...tools].filter((tool) => findRefusal(tool, scope) === undefined);
}

/** Why a tool is not in the scope, as the end of a sentence; undefined when it is. */
export function findRefusal(tool: Tool, scope: ToolScope): string | undefined {
  if (tool.role === "discovery") return undefined;
  if (scope.without && Object.hasOwn(scope.without, tool.name)) return scope.without[tool.name];
  // What others' code says of itself is no promise of ours.
  const isReader = tool.annotations.readOnlyHint && tool.origin !== "dynamic";
  if (scope.readOnly && !isReader && !tool.delegates && !tool.callsTools) return "only tools that read are allowed";
  if (scope.granted && tool.role !== "support" && !scope.granted.includes(tool.toolset)) {
    return `the token has no scope toolset:${tool.toolset}`;
  }
  const isInToolset = tool.origin === undefined && tool.role !== "support";
  if (Array.isArray(scope.toolsets) && isInToolset && !scope.toolsets.includes(tool.toolset)) {
    return `the toolset "${tool.toolset}" is not switched on`;
  }
  return undefined;
}

/** The list of a scope: the tools that find others are in it when something is left to find. */
export function shownTools(tools: Iterable<Tool>, scope: ToolScope, isDefault: (tool: Tool) => boolean): readonly Tool[] {
  const reachable = reachableTools(tools, scope);
  const ordinary = reachable.filter((tool) => tool.role !== "discovery");
  if (scope.toolsets === "all") return ordinary;
  const origins = new Set(ordinary.map(({ origin }) => origin));
  const isWanted = (tool: Tool): boolean => {
    if (tool.origin !== undefined) return !tool.isUnlisted;
    return scope.toolsets !== undefined || isDefault(tool) || (tool.shownBeside !== undefined && origins.has(tool.shownBeside));
  };
  const wanted = ordinary.filter(isWanted);
  const discovery = reachable.filter((tool) => tool.role === "discovery");
  if (wanted.length === ordinary.length && wanted.length <= SHOWN_MAX) return wanted;
  return [...wanted.slice(0, SHOWN_MAX - discovery.length), ...discovery];
}

/** A tool that makes calls of others can do no more than what is in the scope. */
export function describeInScope(tool: Tool, scope: ToolScope): ToolDescription {
  const description = describeTool(tool);
  if (!scope.readOnly || !(tool.delegates || tool.callsTools)) return description;
  return { ...description, annotations: { ...description.annotations, readOnlyHint: true, destructiveHint: false } };
}

/** The same text for scopes that show the same. */
export function scopeKey({ toolsets, granted, readOnly = false, without = {} }: ToolScope): string {
  const sorted = (names?: readonly string[] | string) => (typeof names === "string" ? names : names?.toSorted());
  return JSON.stringify([readOnly, sorted(toolsets) ?? null, sorted(granted) ?? null, sorted(Object.keys(without))]);
}
