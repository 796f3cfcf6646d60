import type { CodeTool } from "../../../catalog/tool.ts";
import type { ScriptTool } from "../../../dynamic/harness/ask-harness.ts";

/**
 * How a script finds the tools: each by its full name, and a server's also as `<server>.<tool>`, in letters, digits and `_`. A path that would
 * be another tool's is given to the first.
 */
export function scriptPaths(tools: readonly CodeTool[]): readonly ScriptTool[] {
  const names = new Set(tools.map(({ name }) => name));
  const taken = new Set<string>();
  return tools.map(({ name, from }): ScriptTool => {
    const server = from && toIdentifier(from.server);
    const path = from && `${server}.${toIdentifier(from.tool)}`;
    // A server whose name is a tool's would hide that tool.
    if (path === undefined || server === undefined || names.has(server) || taken.has(path)) return [name];
    taken.add(path);
    return [name, path];
  });
}

function toIdentifier(name: string): string {
  const plain = name.replaceAll(/[^A-Za-z0-9_]/g, "_");
  return /^[0-9]/.test(plain) ? `_${plain}` : plain;
}
