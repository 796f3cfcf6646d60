import type { Tool } from "../catalog/tool.ts";
import type { Interpreter } from "../interpreter/interpreter.ts";
import { createExecuteCode } from "./code/execute-code.ts";
import { createListDirectory } from "./files/list-directory.ts";
import { createReadFile } from "./files/read-file.ts";
import { writeFile } from "./files/write-file.ts";
import { createRunCommand } from "./shell/run-command.ts";
import type { ToolLimits } from "./tool-limits.ts";

export interface BuiltinToolsOptions {
  readonly interpreter: Interpreter;
  /** The folder that `snippet_name` names files of; absent: there are no snippets. */
  readonly snippetsDirectory?: string;
  readonly config: ToolLimits;
}

/** The tools that come with Belljar, in the order in which they are listed. */
export function builtinTools({ interpreter, snippetsDirectory, config }: BuiltinToolsOptions): readonly Tool[] {
  return [
    createExecuteCode({ interpreter, config, ...(snippetsDirectory !== undefined && { snippetsDirectory }) }),
    createRunCommand(config),
    createReadFile(),
    writeFile,
    createListDirectory(config),
  ];
}
