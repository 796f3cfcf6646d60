import * as z from "zod";
import { defineTool } from "../../catalog/tool.ts";
import { textResult } from "../../catalog/tool-result.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";
import { repositoryArgument } from "./git-arguments.ts";
import { readStatus, STATUS_SHAPE, statusText } from "./repository-status.ts";

export const gitStatus = defineTool({
  name: "git_status",
  title: "Show a repository's state",
  description: [
    "Returns the branch, its commit and upstream, and every changed, staged, conflicting and untracked file of a git repository in your sandbox.",
    "It changes nothing; the repository's file system monitor does not run.",
  ].join("\n"),
  toolset: "git",
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({ path: repositoryArgument(), sandbox: sandboxArgument(DEFAULT_SANDBOX) }),
  value: z.object(STATUS_SHAPE),
  async run(context, { path, sandbox: id }) {
    const status = await readStatus({ sandbox: await context.sandbox(id), path, signal: context.signal });
    return textResult(status, statusText(status));
  },
});
