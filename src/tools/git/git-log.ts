import * as z from "zod";
import { defineTool } from "../../catalog/tool.ts";
import { textResult } from "../../catalog/tool-result.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";
import { pathsArgument, repositoryArgument, revisionArgument } from "./git-arguments.ts";
import { READ_ONLY, runGit } from "./run-git.ts";

/** Characters of one field that are shown. */
const FIELD_MAX = 4_000;
const FIELDS = ["%H", "%an", "%ae", "%aI", "%cI", "%P", "%D", "%s", "%b"] as const;

const filter = (description: string) =>
  z
    .string()
    .min(1)
    .max(250)
    .regex(/^[^\0\n]*$/, "must be one line")
    .optional()
    .describe(description);

const Commit = z.object({
  commit: z.string(),
  author_name: z.string(),
  author_email: z.string(),
  authored_at: z.string(),
  committed_at: z.string(),
  parents: z.array(z.string()),
  refs: z.array(z.string()).describe("Branches and tags that stand here"),
  subject: z.string(),
  body: z.string(),
});

export const gitLog = defineTool({
  name: "git_log",
  title: "Show a repository's history",
  description: [
    "Returns commits of a git repository in your sandbox, newest first, with author, times, parents, refs and the whole message.",
    "Narrow it by revision, files, author, words of the message or time; go on with skip.",
  ].join("\n"),
  toolset: "git",
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({
    path: repositoryArgument(),
    revision: revisionArgument('Where to begin, or a range as "main..feature"; default the commit that is checked out').optional(),
    max_count: z.number().int().min(1).max(200).optional().describe("Default 20"),
    skip: z.number().int().min(0).max(1_000_000).optional().describe("Leave out so many first"),
    author: filter("Only of authors whose name or address matches"),
    grep: filter("Only with a message that matches"),
    since: filter('Only later ones, as "2026-01-31" or "2 weeks ago"'),
    until: filter("Only earlier ones"),
    paths: pathsArgument("Only commits that changed these").optional(),
    sandbox: sandboxArgument(DEFAULT_SANDBOX),
  }),
  value: z.object({ commits: z.array(Commit), truncated: z.boolean().describe("There may be more: go on with skip") }),
  async run(context, { path, revision, max_count: maxCount = 20, skip = 0, paths = [], sandbox: id, ...filters }) {
    const place = { sandbox: await context.sandbox(id), path, signal: context.signal };
    const named = Object.entries(filters).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}=${value}`]));
    const format = `--format=tformat:${FIELDS.map((field) => `${field}%x00`).join("")}`;
    const args = [
      "log",
      "-z",
      `--max-count=${maxCount + 1}`,
      `--skip=${skip}`,
      format,
      ...named,
      ...(revision === undefined ? [] : [revision]),
    ];
    const { stdout, truncated: isCut } = await runGit(place, [...args, "--", ...paths], READ_ONLY);
    const all = parseCommits(stdout, maxCount + 1);
    const commits = all.slice(0, maxCount);
    const truncated = isCut || all.length > maxCount;
    const more = truncated ? [`[There are more: go on with skip ${skip + commits.length}]`] : [];
    const text = [...commits.map(commitText), ...more].join("\n") || "No commits";
    return textResult({ commits, truncated }, text);
  },
});

/** Each field ends with a NUL, and so does each commit. What a cut left unfinished is dropped, unless it is all that there is. */
function parseCommits(text: string, most: number): readonly z.output<typeof Commit>[] {
  const size = FIELDS.length + 1;
  const parts = text.split("\0", most * size + 1);
  const whole = Math.floor((parts.length - 1) / size);
  return Array.from({ length: whole === 0 && text !== "" ? 1 : whole }, (_, index) => {
    const [commit = "", name = "", email = "", authored = "", committed = "", parents = "", refs = "", subject = "", body = ""] = parts
      .slice(index * size, (index + 1) * size)
      .map((field) => field.slice(0, FIELD_MAX));
    return {
      commit,
      author_name: name,
      author_email: email,
      authored_at: authored,
      committed_at: committed,
      parents: parents.split(" ").filter((parent) => parent !== ""),
      refs: refs.split(", ").filter((ref) => ref !== ""),
      subject,
      body: body.trimEnd(),
    };
  });
}

function commitText(commit: z.output<typeof Commit>): string {
  const refs = commit.refs.length > 0 ? ` (${commit.refs.join(", ")})` : "";
  const merge = commit.parents.length > 1 ? ` merges ${commit.parents.join(" ")}` : "";
  const body = commit.body === "" ? "" : `\n${commit.body.replaceAll(/^/gm, "    ")}`;
  const author = `${commit.author_name} <${commit.author_email}> ${commit.authored_at}`;
  return `${commit.commit}${refs}${merge} ${author}\n    ${commit.subject}${body}`;
}
