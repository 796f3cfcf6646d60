import * as z from "zod";
import { defineDataTool } from "../../catalog/tool.ts";
import { dataResult } from "../../catalog/tool-result.ts";
import { acceptCommand } from "../other-names.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";
import { pathArgument } from "../sandbox-path.ts";
import { startBackground } from "./background-processes.ts";
import { commandArgument, envArgument, userArgument } from "./command-argument.ts";
import { PROCESS_FACTS, processFacts } from "./process-facts.ts";

export const runBackground = defineDataTool({
  name: "run_background",
  title: "Run a command in the background",
  description: [
    "Starts a command in your sandbox and returns at once with its process_id, for servers, watchers and long builds.",
    "It goes on until it ends, process_stop stops it, or its sandbox ends; other calls and a restart of this server leave it alone.",
    "Read what it prints with process_output, write to its standard input with process_input, and see all with process_list.",
    "Of its output (stdout and stderr as one) the newest 7 MiB at least are kept. There may be 32 at once in a sandbox.",
  ].join("\n"),
  toolset: "shell",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  accept: acceptCommand,
  input: z.strictObject({
    command: commandArgument("Command line for bash"),
    cwd: pathArgument("Folder to start in, by default the workspace").optional(),
    env: envArgument(),
    user: userArgument(),
    sandbox: sandboxArgument(DEFAULT_SANDBOX),
  }),
  output: z.object(PROCESS_FACTS),
  async run(context, { command, cwd = ".", env = {}, user, sandbox: id }) {
    const sandbox = await context.sandbox(id);
    const facts = processFacts(await startBackground(sandbox, { command, cwd, env, user, signal: context.signal }));
    return dataResult(facts);
  },
});
