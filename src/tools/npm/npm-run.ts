import * as z from "zod";
import { defineTool } from "../../catalog/tool.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";
import { envArgument } from "../shell/command-argument.ts";
import { NPM_TIMEOUT_MS, npmTimeoutArgument, packageFolderArgument, scriptArgument, scriptArgumentsArgument } from "./npm-arguments.ts";
import { NPM_OUTPUT, npmResult } from "./run-npm.ts";

export const npmRun = defineTool({
  name: "npm_run",
  title: "Run an npm script",
  description: [
    "Runs a script of a package.json in your sandbox, as build or lint, and returns its output and exit code. A non-zero exit code is a result.",
    "Start a server or a watcher, which does not end, with run_background.",
  ].join("\n"),
  toolset: "npm",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  input: z.strictObject({
    script: scriptArgument(),
    args: scriptArgumentsArgument(),
    path: packageFolderArgument(),
    env: envArgument(),
    timeout_ms: npmTimeoutArgument(),
    sandbox: sandboxArgument(DEFAULT_SANDBOX),
  }),
  value: NPM_OUTPUT,
  async run(context, { script, args = [], path, env = {}, timeout_ms: timeoutMs = NPM_TIMEOUT_MS, sandbox: id }) {
    const sandbox = await context.sandbox(id);
    return npmResult(context, { sandbox, sandboxId: id, path, args: ["run", script, "--", ...args], env, timeoutMs });
  },
});
