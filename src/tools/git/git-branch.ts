import * as z from "zod";
import { defineTool } from "../../catalog/tool.ts";
import { textResult } from "../../catalog/tool-result.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";
import { branchArgument, repositoryArgument, revisionArgument } from "./git-arguments.ts";
import type { GitFolder } from "./run-git.ts";
import { READ_ONLY, runGit } from "./run-git.ts";

const BRANCHES_MAX = 1_000;
const FIELDS = ["HEAD", "refname", "refname:short", "objectname", "upstream:short", "contents:subject"] as const;

const Branch = z.object({
  name: z.string(),
  remote: z.boolean().describe("It is what is known of a remote's branch"),
  current: z.boolean(),
  commit: z.string(),
  upstream: z.string().nullable(),
  subject: z.string().describe("Of its last commit"),
});

const Input = z
  .strictObject({
    path: repositoryArgument(),
    action: z.enum(["list", "create", "delete", "rename"]).optional().describe("Default list"),
    name: branchArgument("The branch to create, delete or rename").optional(),
    new_name: branchArgument("Its new name, to rename it").optional(),
    start: revisionArgument("Where a new branch begins; default the commit that is checked out").optional(),
    force: z.boolean().optional().describe("Delete or rename even when commits or another branch are lost"),
    remotes: z.boolean().optional().describe("List what is known of remotes' branches too"),
    sandbox: sandboxArgument(DEFAULT_SANDBOX),
  })
  .refine(({ action = "list", name }) => (action === "list") === (name === undefined), {
    path: ["name"],
    message: "is needed to create, delete and rename, and has no meaning to list",
  })
  .refine(({ action, new_name: newName }) => (action === "rename") === (newName !== undefined), {
    path: ["new_name"],
    message: "belongs to rename",
  });

export const gitBranch = defineTool({
  name: "git_branch",
  title: "List and change branches",
  description: [
    "Lists, creates, deletes or renames branches of a git repository in your sandbox, and returns the branches there are then.",
    "A new branch is not checked out: use git_checkout with create for that. A branch with commits that are nowhere else is deleted with force alone.",
  ].join("\n"),
  toolset: "git",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  input: Input,
  value: z.object({ branches: z.array(Branch), current: z.string().nullable(), truncated: z.boolean() }),
  async run(context, args) {
    const place = { sandbox: await context.sandbox(args.sandbox), path: args.path, signal: context.signal };
    const change = changeArguments(args);
    if (change) await runGit(place, ["branch", ...change]);
    const found = await readBranches(place, args.remotes ?? false);
    const branches = found.slice(0, BRANCHES_MAX);
    const current = found.find((branch) => branch.current)?.name ?? null;
    const text = branches.map(branchText).join("\n") || "No branches: there are no commits yet";
    return textResult({ branches, current, truncated: found.length > branches.length }, text);
  },
});

function changeArguments({
  action,
  name = "",
  new_name: newName = "",
  start,
  force,
}: z.output<typeof Input>): readonly string[] | undefined {
  switch (action) {
    case "create":
      return [...(force ? ["--force"] : []), "--", name, ...(start === undefined ? [] : [start])];
    case "delete":
      return [force ? "-D" : "-d", "--", name];
    case "rename":
      return [force ? "-M" : "-m", "--", name, newName];
    case "list":
    case undefined:
      return undefined;
  }
}

async function readBranches(place: GitFolder, hasRemotes: boolean): Promise<readonly z.output<typeof Branch>[]> {
  const format = FIELDS.map((field) => `%(${field})%00`).join("");
  const kinds = ["refs/heads", ...(hasRemotes ? ["refs/remotes"] : [])];
  const { stdout } = await runGit(place, ["for-each-ref", `--format=${format}`, `--count=${BRANCHES_MAX + 1}`, ...kinds], READ_ONLY);
  return stdout.split("\0\n", BRANCHES_MAX + 2).flatMap((row) => {
    const [head, ref = "", name, commit = "", upstream = "", subject = ""] = row.split("\0", FIELDS.length);
    if (name === undefined) return [];
    return [{ name, remote: ref.startsWith("refs/remotes/"), current: head === "*", commit, upstream: upstream || null, subject }];
  });
}

function branchText({ name, current, commit, upstream, subject }: z.output<typeof Branch>): string {
  return `${current ? "*" : " "} ${name} ${commit}${upstream === null ? "" : ` [${upstream}]`} ${subject}`;
}
