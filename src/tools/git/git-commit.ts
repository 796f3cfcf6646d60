import * as z from "zod";
import { defineTool } from "../../catalog/tool.ts";
import { textResult } from "../../catalog/tool-result.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";
import { Change, changeLines, FILES_MAX, parseChanges, sumLines } from "./change-list.ts";
import { repositoryArgument } from "./git-arguments.ts";
import { identityVariables } from "./git-identity.ts";
import type { GitFolder } from "./run-git.ts";
import { LINE_BYTES, READ_ONLY, runGit } from "./run-git.ts";

const line = (description: string) =>
  z
    .string()
    .min(1)
    .max(250)
    .regex(/^[^\0\n<>]+$/, "must be one line without < and >")
    .optional()
    .describe(description);

const Output = z.object({
  commit: z.string(),
  branch: z.string().nullable().describe("null when no branch is checked out"),
  subject: z.string(),
  author: z.string(),
  files: z.array(Change),
  insertions: z.number().int(),
  deletions: z.number().int(),
});

export const gitCommit = defineTool({
  name: "git_commit",
  title: "Commit",
  description: [
    "Commits what is staged in a git repository in your sandbox, and returns the commit with its files and line counts.",
    "With all every change of tracked files is staged first. Where no name is configured, one is filled in. The repository's own hooks run,",
    "inside the sandbox, unless no_verify is set.",
  ].join("\n"),
  toolset: "git",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  input: z.strictObject({
    path: repositoryArgument(),
    message: z
      .string()
      .min(1)
      .max(65_536)
      .refine((message) => !message.includes("\0"), "must not hold a NUL byte")
      .refine((message) => message.trim() !== "", "must say something")
      .describe("The whole message: a subject, and after a blank line more"),
    all: z.boolean().optional().describe("Stage every change of tracked files first"),
    amend: z.boolean().optional().describe("Replace the last commit"),
    allow_empty: z.boolean().optional().describe("Commit even when nothing changed"),
    no_verify: z.boolean().optional().describe("Leave out the hooks that check before a commit"),
    author_name: line("Author instead of the configured one"),
    author_email: line("The author's address"),
    sandbox: sandboxArgument(DEFAULT_SANDBOX),
  }),
  value: Output,
  async run(context, args) {
    const place = { sandbox: await context.sandbox(args.sandbox), path: args.path, signal: context.signal };
    const flags = { all: args.all, amend: args.amend, "allow-empty": args.allow_empty, "no-verify": args.no_verify };
    const named = Object.entries(flags).flatMap(([name, isSet]) => (isSet ? [`--${name}`] : []));
    const env = await identityVariables(place, { name: args.author_name, email: args.author_email });
    await runGit(place, ["commit", "--quiet", "--file=-", ...named], { input: args.message, env });
    const made = await readLast(place);
    const { commit, branch, subject, author, files, insertions, deletions } = made;
    const head = `Committed ${commit}${branch === null ? "" : ` on ${branch}`}\n${subject}\n${author}`;
    const text = `${head}\n${files.length} files, +${insertions} -${deletions}\n${changeLines(files).join("\n")}`.trimEnd();
    return textResult({ ...made, files: files.slice(0, FILES_MAX) }, text);
  },
});

async function readLast(place: GitFolder): Promise<z.output<typeof Output>> {
  const [head, list, branch] = [
    await runGit(place, ["log", "-1", "--format=%H%x00%s%x00%an <%ae>"], { ...READ_ONLY, maxOutputBytes: LINE_BYTES }),
    await runGit(
      place,
      ["show", "--first-parent", "--no-ext-diff", "--format=", "--raw", "--numstat", "-z", "--find-renames", "HEAD"],
      READ_ONLY,
    ),
    await runGit(place, ["branch", "--show-current"], { ...READ_ONLY, maxOutputBytes: LINE_BYTES }),
  ];
  const [commit = "", subject = "", author = ""] = head.stdout.trimEnd().split("\0", 3);
  const files = parseChanges(list.stdout);
  return { commit, branch: branch.stdout.trim() || null, subject, author, files: [...files], ...sumLines(files) };
}
