import * as z from "zod";
import { defineTool } from "../../catalog/tool.ts";
import { textResult } from "../../catalog/tool-result.ts";
import { openOutputProgress } from "../output-progress.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";
import { branchArgument, NETWORK_TIMEOUT_MS, networkTimeoutArgument, remoteArgument, repositoryArgument } from "./git-arguments.ts";
import { credentialArgument } from "./git-credential.ts";
import { remoteSettings } from "./remote-credential.ts";
import { runGit } from "./run-git.ts";

const STATES = { " ": "updated", "+": "forced", "-": "deleted", "*": "created", "!": "rejected", "=": "up_to_date" } as const;
const UPDATES_MAX = 10_000;
type State = (typeof STATES)[keyof typeof STATES];

const Update = z.object({
  from: z.string(),
  to: z.string(),
  status: z.enum(Object.values(STATES) as [State, ...State[]]),
  summary: z.string(),
});

export const gitPush = defineTool({
  name: "git_push",
  title: "Push",
  description: [
    "Sends commits of a git repository in your sandbox to a remote, and returns what became of each ref. Default: the branch that is checked out,",
    "to the branch of the same name. A push that would lose the remote's commits is refused and says so: pull first, or set force_with_lease.",
    "The sandbox's network policy decides which hosts it reaches.",
  ].join("\n"),
  toolset: "git",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: true },
  input: z.strictObject({
    path: repositoryArgument(),
    remote: remoteArgument(),
    branch: branchArgument("The branch to push; default the one that is checked out").optional(),
    set_upstream: z.boolean().optional().describe("Follow the remote's branch from now on"),
    force_with_lease: z.boolean().optional().describe("Replace the remote's branch, unless it has moved since it was last seen"),
    tags: z.boolean().optional().describe("Push all tags too"),
    credential: credentialArgument(),
    timeout_ms: networkTimeoutArgument(),
    sandbox: sandboxArgument(DEFAULT_SANDBOX),
  }),
  value: z.object({ remote: z.string(), updates: z.array(Update) }),
  async run(context, { path, remote = "origin", branch = "HEAD", credential, timeout_ms: timeoutMs = NETWORK_TIMEOUT_MS, ...args }) {
    const place = { sandbox: await context.sandbox(args.sandbox), path, signal: context.signal };
    const flags = { "set-upstream": args.set_upstream, "force-with-lease": args.force_with_lease, tags: args.tags };
    const named = Object.entries(flags).flatMap(([name, isSet]) => (isSet ? [`--${name}`] : []));
    const settings = await remoteSettings(place, { remote, credential, isPush: true });
    using progress = openOutputProgress((told) => context.progress(told));
    const onOutput = (chunk: Buffer) => progress.push(chunk);
    const options = { ...settings, timeoutMs, onOutput };
    const answer = await runGit(place, ["push", "--porcelain", "--progress", ...named, "--", remote, branch], options);
    const updates = parseUpdates(answer.stdout);
    const text = updates.map(({ from, to, status, summary }) => `${status}: ${from} -> ${to} ${summary}`).join("\n");
    return textResult({ remote, updates }, `Pushed to ${remote}\n${text}`);
  },
});

/** `FLAG TAB FROM:TO TAB SUMMARY` for each ref. */
function parseUpdates(text: string): z.output<typeof Update>[] {
  return text.split("\n", UPDATES_MAX).flatMap((line) => {
    const [flag = "", refs, summary = ""] = line.split("\t", 3);
    const colon = refs?.lastIndexOf(":") ?? -1;
    if (refs === undefined || colon < 0) return [];
    return [{ from: refs.slice(0, colon), to: refs.slice(colon + 1), status: STATES[flag as keyof typeof STATES] ?? "updated", summary }];
  });
}
