import type { Tool } from "../catalog/tool.ts";
import type { Interpreter } from "../interpreter/interpreter.ts";
import type { Sandboxes } from "../sandbox/sandbox.ts";
import { createExecuteCode } from "./code/execute-code.ts";
import { callTool } from "./discovery/call-tool.ts";
import { describeToolTool } from "./discovery/describe-tool.ts";
import { searchTools } from "./discovery/search-tools.ts";
import { fileTools } from "./files/file-tools.ts";
import { readResult } from "./results/read-result.ts";
import { sandboxTools } from "./sandbox/sandbox-tools.ts";
import { shellTools } from "./shell/shell-tools.ts";
import type { ShellSessions } from "./shell/shell-sessions.ts";
import { todoTools } from "./todo/todo-tools.ts";
import type { ToolLimits } from "./tool-limits.ts";

export interface BuiltinToolsOptions {
  readonly interpreter: Interpreter;
  readonly sandboxes: Pick<Sandboxes, "create" | "list">;
  readonly shells: ShellSessions;
  /** The folder that `snippet_name` names files of; absent: there are no snippets. */
  readonly snippetsDirectory?: string;
  readonly config: ToolLimits;
}

/** The tools that come with Belljar, in the order in which they are listed. */
export function builtinTools({ interpreter, sandboxes, shells, snippetsDirectory, config }: BuiltinToolsOptions): readonly Tool[] {
  return [
    createExecuteCode({ interpreter, config, ...(snippetsDirectory !== undefined && { snippetsDirectory }) }),
    ...shellTools(shells, config),
    ...fileTools(config),
    ...sandboxTools(sandboxes, config),
    readResult,
    ...todoTools,
    searchTools,
    describeToolTool,
    callTool,
  ];
}
