import * as z from "zod";
import { defineTool } from "../../catalog/tool.ts";
import { textResult } from "../../catalog/tool-result.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";
import { branchArgument, pathsArgument, repositoryArgument, revisionArgument } from "./git-arguments.ts";
import { readStatus, STATUS_SHAPE, statusText } from "./repository-status.ts";
import { runGit } from "./run-git.ts";

const Input = z
  .strictObject({
    path: repositoryArgument(),
    branch: branchArgument("The branch to check out; one that only a remote has is made").optional(),
    create: z.boolean().optional().describe("Make the branch first"),
    revision: revisionArgument(
      "Where a new branch begins; where named files come from; or, alone, the commit to look at without a branch",
    ).optional(),
    paths: pathsArgument(
      "Bring back these files and folders as they are in the revision, by default in the index: their changes are lost",
    ).optional(),
    sandbox: sandboxArgument(DEFAULT_SANDBOX),
  })
  .superRefine(({ branch, create, revision, paths }, context) => {
    const problem =
      branch === undefined && revision === undefined && paths === undefined
        ? "Give branch, revision or paths"
        : create === true && branch === undefined
          ? "create needs branch"
          : branch !== undefined && paths !== undefined
            ? "branch and paths exclude each other; give revision with paths"
            : branch !== undefined && create !== true && revision !== undefined
              ? "branch takes revision with create alone"
              : undefined;
    if (problem) context.addIssue({ code: "custom", message: problem });
  });

export const gitCheckout = defineTool({
  name: "git_checkout",
  title: "Check out a branch, commit or files",
  description: [
    "Checks out a branch of a git repository in your sandbox (with create a new one), a commit without a branch (revision alone),",
    "or brings back files (paths). Returns the repository's state. Changes of your own are never lost but in the files that paths names:",
    "git refuses to check out over them.",
  ].join("\n"),
  toolset: "git",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  input: Input,
  value: z.object(STATUS_SHAPE),
  async run(context, args) {
    const place = { sandbox: await context.sandbox(args.sandbox), path: args.path, signal: context.signal };
    await runGit(place, checkoutArguments(args));
    const status = await readStatus(place);
    return textResult(status, statusText(status));
  },
});

function checkoutArguments({ branch, create, revision, paths }: z.output<typeof Input>): readonly string[] {
  const at = revision === undefined ? [] : [revision];
  if (paths) return ["checkout", "--quiet", ...at, "--", ...paths];
  if (branch === undefined) return ["switch", "--quiet", "--detach", ...at];
  return create ? ["switch", "--quiet", "--create", branch, ...at] : ["switch", "--quiet", branch];
}
