import type { Tool } from "../../catalog/tool.ts";
import type { ShellSessions } from "../../interpreter/lasting/shell-sessions.ts";
import type { ToolLimits } from "../tool-limits.ts";
import type { LateCommands } from "./late-commands.ts";
import { processInput } from "./process-input.ts";
import { processList } from "./process-list.ts";
import { processOutput } from "./process-output.ts";
import { processTool } from "./process.ts";
import { processStop } from "./process-stop.ts";
import { runBackground } from "./run-background.ts";
import { createRunCommand } from "./run-command.ts";
import { createShellRun } from "./shell-run.ts";

/** Commands: single ones, those that stay in the background, and shells that stay between calls. */
export function shellTools(shells: ShellSessions, late: LateCommands, config: ToolLimits): readonly Tool[] {
  return [
    createRunCommand({ sessions: shells, late, config }),
    processTool,
    createShellRun(shells, config),
    runBackground,
    processList,
    processOutput,
    processInput,
    processStop,
  ];
}
