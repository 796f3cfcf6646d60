import type { Calls } from "./calls.ts";

/** A tool's name, and its namespace and name there, as `memo.add`. */
export type ScriptTool = readonly [name: string, path?: string];

type CallTool = (args?: unknown) => Promise<unknown>;

/** The tools as functions, by their names and in their namespaces. Each resolves with the tool's value, and rejects with a `ToolError`. */
export function createTools(tools: readonly ScriptTool[], calls: Calls): Readonly<Record<string, unknown>> {
  const found = Object.create(null) as Record<string, CallTool | Record<string, CallTool>>;
  for (const [name, path] of tools) {
    const call: CallTool = async (args) => (await calls.call(name, args)).value;
    found[name] = call;
    const dot = path?.indexOf(".") ?? -1;
    if (path === undefined || dot === -1) continue;
    const namespace = path.slice(0, dot);
    const inner = found[namespace] ?? (Object.create(null) as Record<string, CallTool>);
    if (typeof inner === "function") continue;
    inner[path.slice(dot + 1)] = call;
    found[namespace] = inner;
  }
  return found;
}
