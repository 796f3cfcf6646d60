import * as z from "zod";
import { defineTool } from "../../catalog/tool.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";
import { envArgument } from "../shell/command-argument.ts";
import { NPM_TIMEOUT_MS, npmTimeoutArgument, packageFolderArgument, scriptArgumentsArgument } from "./npm-arguments.ts";
import { NPM_OUTPUT, npmResult } from "./run-npm.ts";

export const npmTest = defineTool({
  name: "npm_test",
  title: "Run a package's tests",
  description: [
    "Runs the test script of a package.json in your sandbox and returns its output and exit code; failing tests are a result.",
    "CI is set, so that test runners run once and do not watch.",
  ].join("\n"),
  toolset: "npm",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  input: z.strictObject({
    args: scriptArgumentsArgument(),
    path: packageFolderArgument(),
    env: envArgument(),
    timeout_ms: npmTimeoutArgument(),
    sandbox: sandboxArgument(DEFAULT_SANDBOX),
  }),
  value: NPM_OUTPUT,
  async run(context, { args = [], path, env = {}, timeout_ms: timeoutMs = NPM_TIMEOUT_MS, sandbox: id }) {
    const sandbox = await context.sandbox(id);
    return npmResult(context, { sandbox, sandboxId: id, path, args: ["test", "--", ...args], env: { CI: "true", ...env }, timeoutMs });
  },
});
