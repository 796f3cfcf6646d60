import type { Grants } from "../sandbox/sandbox.ts";
import type { ToolScope } from "./tool-scope.ts";

/** What is in the scope and in the grants too. Grants narrow every tool, whoever brought it. */
export function narrowScope(scope: ToolScope, { toolsets, readOnly }: Grants = {}): ToolScope {
  return {
    ...scope,
    ...(toolsets && { granted: toolsets }),
    ...(toolsets && { toolsets: Array.isArray(scope.toolsets) ? toolsets.filter((name) => scope.toolsets?.includes(name)) : toolsets }),
    ...(readOnly && { readOnly }),
  };
}
