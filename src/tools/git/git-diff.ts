import * as z from "zod";
import { cutAtLine } from "../../catalog/result.ts";
import { defineTool } from "../../catalog/tool.ts";
import { textResult } from "../../catalog/tool-result.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";
import { Change, changeText, FILES_MAX, parseChanges } from "./change-list.ts";
import { pathsArgument, repositoryArgument, revisionArgument } from "./git-arguments.ts";
import type { GitFolder } from "./run-git.ts";
import { READ_ONLY, runGit } from "./run-git.ts";

const PATCH_SHOWN_BYTES = 131_072;

const Input = z
  .strictObject({
    path: repositoryArgument(),
    staged: z.boolean().optional().describe("What would be committed; default: what is changed beyond that"),
    from: revisionArgument("Compare from this commit or branch").optional(),
    to: revisionArgument("Compare to this one; absent: the files as they are. Needs from").optional(),
    paths: pathsArgument("Only these files and folders").optional(),
    context: z.number().int().min(0).max(100).optional().describe("Lines around each change; default 3"),
    sandbox: sandboxArgument(DEFAULT_SANDBOX),
  })
  .refine(({ from, to }) => to === undefined || from !== undefined, { path: ["to"], message: "needs from" })
  .refine(({ staged, to }) => staged !== true || to === undefined, { path: ["to"], message: "has no meaning with staged" });

const Output = z.object({
  files: z.array(Change),
  patch: z.string().describe("Unified diff"),
  truncated: z.boolean().describe("There is more than is shown: ask for some paths alone"),
});

export const gitDiff = defineTool({
  name: "git_diff",
  title: "Show changes of a repository",
  description: [
    "Returns the changed files of a git repository in your sandbox with their line counts, and the changes as a unified diff.",
    "Without arguments: the files as they are against the index. With staged: the index against the last commit. With from and to: two commits.",
    "Untracked files are not in it; git_status lists them. External diff programs and text converters do not run.",
  ].join("\n"),
  toolset: "git",
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: Input,
  value: Output,
  async run(context, args) {
    const place = { sandbox: await context.sandbox(args.sandbox), path: args.path, signal: context.signal };
    const list = await diff(place, args, ["--raw", "--numstat", "-z", "--abbrev=40"]);
    const patch = await diff(place, args, ["--patch", `--unified=${args.context ?? 3}`]);
    const files = parseChanges(list.stdout);
    const text = cutAtLine(patch.stdout, PATCH_SHOWN_BYTES);
    const isCut = text.length < patch.stdout.length;
    const truncated = isCut || patch.truncated || list.truncated || files.length > FILES_MAX;
    const result = { files: files.slice(0, FILES_MAX), patch: text, truncated };
    const rest = isCut ? `read on with read_result, uri ${context.results.keep(patch.stdout)}?offset=${Buffer.byteLength(text)}, or ` : "";
    const cut = truncated ? `[Cut: there is more; ${rest}ask for some paths alone]` : "";
    const lines = [...(files.length > 0 ? result.files.map(changeText) : ["No changes"]), "", text, cut];
    return textResult(result, lines.join("\n").trimEnd());
  },
});

function diff(place: GitFolder, args: z.output<typeof Input>, format: readonly string[]) {
  const { staged, from, to, paths } = args;
  const revisions = [from, to].filter((revision) => revision !== undefined);
  return runGit(
    place,
    [
      "diff",
      "--no-ext-diff",
      "--no-textconv",
      "--find-renames",
      ...format,
      ...(staged ? ["--cached"] : []),
      ...revisions,
      "--",
      ...(paths ?? []),
    ],
    READ_ONLY,
  );
}
