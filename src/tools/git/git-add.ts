import * as z from "zod";
import { defineTool } from "../../catalog/tool.ts";
import { textResult } from "../../catalog/tool-result.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";
import { pathsArgument, repositoryArgument } from "./git-arguments.ts";
import { readStatus, STATUS_SHAPE, statusText } from "./repository-status.ts";
import { runGit } from "./run-git.ts";

export const gitAdd = defineTool({
  name: "git_add",
  title: "Stage files",
  description: [
    "Puts files as they are now into the index of a git repository in your sandbox, for the next commit: those that are named, or with all",
    "every change in the repository, deletions and untracked files too. Returns the repository's state.",
  ].join("\n"),
  toolset: "git",
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: z
    .strictObject({
      path: repositoryArgument(),
      paths: pathsArgument("Files and folders to stage").optional(),
      all: z.boolean().optional().describe("Stage every change in the repository"),
      sandbox: sandboxArgument(DEFAULT_SANDBOX),
    })
    .refine(({ paths, all }) => (paths !== undefined) !== (all === true), "Give either paths or all"),
  value: z.object(STATUS_SHAPE),
  async run(context, { path, paths, sandbox: id }) {
    const place = { sandbox: await context.sandbox(id), path, signal: context.signal };
    await runGit(place, ["add", ...(paths ? ["--", ...paths] : ["--all"])]);
    const status = await readStatus(place);
    return textResult(status, statusText(status));
  },
});
