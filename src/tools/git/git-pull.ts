import * as z from "zod";
import { defineTool } from "../../catalog/tool.ts";
import { textResult } from "../../catalog/tool-result.ts";
import { BelljarError } from "../../errors.ts";
import { openOutputProgress } from "../output-progress.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";
import { Change, changeLines, FILES_MAX, parseChanges } from "./change-list.ts";
import { branchArgument, NETWORK_TIMEOUT_MS, networkTimeoutArgument, remoteArgument, repositoryArgument } from "./git-arguments.ts";
import { credentialArgument } from "./git-credential.ts";
import { identityVariables } from "./git-identity.ts";
import { remoteSettings } from "./remote-credential.ts";
import { readStatus } from "./repository-status.ts";
import type { GitFolder } from "./run-git.ts";
import { LINE_BYTES, READ_ONLY, runGit } from "./run-git.ts";

const FLAGS = { ff_only: "--ff-only", merge: "--no-rebase", rebase: "--rebase" } as const;

export const gitPull = defineTool({
  name: "git_pull",
  title: "Pull",
  description: [
    "Fetches a remote's commits into a git repository in your sandbox and brings the checked out branch up to them: by moving forward alone (default),",
    "or by merge or rebase when both sides have commits. Returns the commits before and after and the files between them.",
    "When both sides changed the same lines it fails with the files in conflict, which are left for you to resolve; git merge --abort or git rebase --abort undoes it.",
  ].join("\n"),
  toolset: "git",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  input: z
    .strictObject({
      path: repositoryArgument(),
      remote: remoteArgument(),
      branch: branchArgument("The remote's branch; default the one that the checked out branch follows").optional(),
      strategy: z.enum(["ff_only", "merge", "rebase"]).optional().describe("Default ff_only"),
      credential: credentialArgument(),
      timeout_ms: networkTimeoutArgument(),
      sandbox: sandboxArgument(DEFAULT_SANDBOX),
    })
    .refine(({ remote, branch }) => remote === undefined || branch !== undefined, { path: ["branch"], message: "is needed with remote" }),
  value: z.object({ before: z.string().nullable(), after: z.string(), updated: z.boolean(), files: z.array(Change) }),
  async run(context, args) {
    const place = { sandbox: await context.sandbox(args.sandbox), path: args.path, signal: context.signal };
    const { remote = "origin", branch, credential, strategy = "ff_only", timeout_ms: timeoutMs = NETWORK_TIMEOUT_MS } = args;
    const settings = await remoteSettings(place, { remote, credential, isPush: false });
    const env = { ...(await identityVariables(place, {})), ...settings.env };
    const before = await readHead(place);
    using progress = openOutputProgress((told) => context.progress(told));
    const from = branch === undefined ? [] : ["--", remote, branch];
    const pull = ["pull", "--progress", "--no-edit", FLAGS[strategy], ...from];
    await runGit(place, pull, { ...settings, env, timeoutMs, onOutput: (chunk) => progress.push(chunk) }).catch((error: unknown) =>
      withConflicts(place, error),
    );
    const after = (await readHead(place)) ?? "";
    const files = before === null || before === after ? [] : await readFiles(place, before, after);
    const pulled = { before, after, updated: before !== after, files: files.slice(0, FILES_MAX) };
    const text = pulled.updated ? [`From ${before ?? "nothing"} to ${after}`, ...changeLines(files)].join("\n") : `Up to date at ${after}`;
    return textResult(pulled, text);
  },
});

async function readHead(place: GitFolder): Promise<string | null> {
  const { stdout } = await runGit(place, ["rev-parse", "--verify", "--quiet", "HEAD"], {
    ...READ_ONLY,
    accept: [0, 1],
    maxOutputBytes: LINE_BYTES,
  });
  return stdout.trim() || null;
}

async function readFiles(place: GitFolder, before: string, after: string) {
  const args = ["diff", "--no-ext-diff", "--no-textconv", "--raw", "--numstat", "-z", "--find-renames", before, after, "--"];
  return parseChanges((await runGit(place, args, READ_ONLY)).stdout);
}

async function withConflicts(place: GitFolder, error: unknown): Promise<never> {
  if (!(error instanceof BelljarError && error.code === "COMMAND_FAILED")) throw error;
  const conflicts = (await readStatus(place)).entries.filter(({ conflict }) => conflict).map(({ path }) => path);
  if (conflicts.length === 0) throw error;
  throw new BelljarError("COMMAND_FAILED", `${error.message}\nIn conflict:\n${conflicts.slice(0, 100).join("\n")}`, { cause: error });
}
