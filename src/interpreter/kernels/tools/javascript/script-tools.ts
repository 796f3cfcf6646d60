import { type Calls, ToolError } from "./calls.ts";

/** A tool's name, and its namespace and name there, as `memo.add`. */
export type ScriptTool = readonly [name: string, path?: string];

type CallTool = (args?: unknown) => Promise<unknown>;
type Namespace = Record<string, CallTool>;

const SHOWN_MAX = 20;
/** Node and `await` ask every object for these, which is no slip. */
const ASKED_OF_ALL = new Set(["then", "toJSON", "toString", "valueOf", "constructor"]);

/**
 * The tools as functions, by their names and in their namespaces. Each resolves with the tool's value, and rejects with a `ToolError`. So throws a
 * name that there is not, with those that there are.
 */
export function createTools(tools: readonly ScriptTool[], calls: Calls): Readonly<Record<string, unknown>> {
  const found = Object.create(null) as Record<string, CallTool | Namespace>;
  const servers = new Set<string>();
  for (const [name, path] of tools) {
    const call: CallTool = async (args) => (await calls.call(name, args)).value;
    found[name] = call;
    const dot = path?.indexOf(".") ?? -1;
    if (path === undefined || dot === -1) continue;
    const namespace = path.slice(0, dot);
    const inner = found[namespace] ?? openNamespace(namespace);
    if (typeof inner === "function") continue;
    inner[path.slice(dot + 1)] = call;
    found[namespace] = inner;
    servers.add(namespace);
  }
  return refusing(found, (name) => `There is no tools.${name}. ${tellServers([...servers])}`);
}

function openNamespace(server: string): Namespace {
  const own = Object.create(null) as Namespace;
  return refusing(own, (name) => `tools.${server} has no ${name}; it has ${shown(Object.keys(own))}`);
}

function refusing<Names extends object>(names: Names, tell: (name: string) => string): Names {
  return new Proxy(names, {
    get(target, key) {
      if (typeof key === "symbol" || ASKED_OF_ALL.has(key) || key in target) return Reflect.get(target, key) as unknown;
      throw new ToolError(tell(key.slice(0, 200)), "TOOL_NOT_FOUND");
    },
  });
}

function tellServers(servers: readonly string[]): string {
  return servers.length === 0 ? "No server has tools here" : `The servers are ${shown(servers)}`;
}

function shown(names: readonly string[]): string {
  return `${names.slice(0, SHOWN_MAX).join(", ")}${names.length > SHOWN_MAX ? ", ..." : ""}`;
}
