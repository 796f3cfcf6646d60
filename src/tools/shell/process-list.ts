import * as z from "zod";
import { defineDataTool } from "../../catalog/tool.ts";
import { dataResult } from "../../catalog/tool-result.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";
import { listBackground } from "./background-processes.ts";
import { PROCESS_FACTS, processFacts } from "./process-facts.ts";

/** There may be 64 of them. */
const COMMAND_MAX = 120;

const Row = z.object({
  ...PROCESS_FACTS,
  command: z.string().describe(`Its first ${COMMAND_MAX} characters`),
  cwd: z.string(),
  started_at: z.string(),
});

export const processList = defineDataTool({
  name: "process_list",
  title: "List background processes",
  description: [
    "Lists the processes that run_background started in your sandbox, those that have ended too, oldest first, with their state and exit code.",
    "The records of the oldest that have ended go when there are more than 64. For all processes of the sandbox run ps with run_command.",
  ].join("\n"),
  toolset: "shell",
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  listsOrEnds: true,
  input: z.strictObject({ sandbox: sandboxArgument(DEFAULT_SANDBOX) }),
  output: z.object({ processes: z.array(Row) }),
  async run(context, { sandbox: id }) {
    const known = await listBackground(await context.sandbox(id), context.signal);
    const processes = known.map((one) => ({
      ...processFacts(one),
      command: one.command.slice(0, COMMAND_MAX),
      cwd: one.cwd,
      started_at: one.startedAt,
    }));
    return dataResult({ processes });
  },
});
