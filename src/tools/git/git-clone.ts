import { posix } from "node:path";
import * as z from "zod";
import { defineTool } from "../../catalog/tool.ts";
import { textResult } from "../../catalog/tool-result.ts";
import { openOutputProgress } from "../output-progress.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";
import { pathArgument, toAbsolute } from "../sandbox-path.ts";
import { branchArgument, NETWORK_TIMEOUT_MS, networkTimeoutArgument } from "./git-arguments.ts";
import { credentialArgument, credentialSettings } from "./git-credential.ts";
import { LINE_BYTES, READ_ONLY, runGit } from "./run-git.ts";

const Input = z
  .strictObject({
    url: z.string().min(1).max(2_048).describe("https, ssh, git or file address, user@host:path, or a folder of the sandbox"),
    path: pathArgument("New folder; default the repository's name").optional(),
    branch: branchArgument("Branch or tag to check out; default the remote's own").optional(),
    depth: z.number().int().min(1).max(1_000_000).optional().describe("Fetch so many of the newest commits alone"),
    credential: credentialArgument(),
    timeout_ms: networkTimeoutArgument(),
    sandbox: sandboxArgument(DEFAULT_SANDBOX),
  })
  .superRefine(({ url, path }, context) => {
    const problem = findAddressProblem(url);
    if (problem !== undefined) context.addIssue({ code: "custom", path: ["url"], message: problem });
    else if (path === undefined && folderName(url) === "")
      context.addIssue({ code: "custom", path: ["path"], message: "is needed: url names no folder" });
  });

export const gitClone = defineTool({
  name: "git_clone",
  title: "Clone a repository",
  description: [
    "Clones a git repository into a new folder in your sandbox, and returns the folder, branch and commit. Submodules are not fetched.",
    "The sandbox's network policy decides which hosts it reaches. Addresses never hold a password: give credential, or a variable of the sandbox with it.",
    "Transports that run a program (ext::) are off.",
  ].join("\n"),
  toolset: "git",
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
  input: Input,
  value: z.object({
    path: z.string(),
    branch: z.string().nullable(),
    commit: z.string().nullable().describe("null when it is empty"),
    url: z.string(),
  }),
  async run(context, { url, path = folderName(url), branch, depth, credential, timeout_ms: timeoutMs = NETWORK_TIMEOUT_MS, sandbox: id }) {
    const settings = credential ? credentialSettings(url, credential) : {};
    const sandbox = await context.sandbox(id);
    const options = [...(branch === undefined ? [] : [`--branch=${branch}`]), ...(depth === undefined ? [] : [`--depth=${depth}`])];
    using progress = openOutputProgress((told) => context.progress(told));
    const onOutput = (chunk: Buffer) => progress.push(chunk);
    const { signal } = context;
    await runGit({ sandbox, path: undefined, signal }, ["clone", "--progress", ...options, "--", url, path], {
      ...settings,
      timeoutMs,
      onOutput,
    });
    const place = { sandbox, path, signal };
    const head = await runGit(place, ["rev-parse", "--verify", "--quiet", "HEAD"], {
      ...READ_ONLY,
      accept: [0, 1],
      maxOutputBytes: LINE_BYTES,
    });
    const current = await runGit(place, ["branch", "--show-current"], { ...READ_ONLY, maxOutputBytes: LINE_BYTES });
    const cloned = { path: toAbsolute(sandbox, path), branch: current.stdout.trim() || null, commit: head.stdout.trim() || null, url };
    const at = cloned.commit === null ? "It is empty" : `At ${cloned.commit}${cloned.branch === null ? "" : ` on ${cloned.branch}`}`;
    return textResult(cloned, `Cloned ${url} to ${cloned.path}\n${at}`);
  },
});

/** As git names it. */
function folderName(url: string): string {
  const last = posix.basename(url.replace(/(?<!\/)\/+$/, "").replace(/\/\.git$/, "")).replace(/^.*:/, "");
  const name = last.replace(/\.git$/, "");
  return name.startsWith("-") || name === "." || name === ".." ? "" : name;
}

const SCHEMES = new Set(["https:", "http:", "ssh:", "git:", "file:"]);
const SCP = /^(?:[A-Za-z0-9._-]+@)?[A-Za-z0-9[][A-Za-z0-9._[\]-]*:(?!\/\/).+$/;

/** Undefined for an address that git may be given: no option, no transport that runs a program, no password in it. */
function findAddressProblem(url: string): string | undefined {
  // oxlint-disable-next-line no-control-regex
  if (/[\u0000-\u001f\u007f]/.test(url)) return "must not hold control characters";
  if (url.startsWith("-")) return "must not begin with a dash";
  if (/^[A-Za-z0-9+.-]*::/.test(url)) return "names a transport that runs a program; use https, ssh, git or file";
  if (!/^[A-Za-z][A-Za-z0-9+.-]*:\/\//.test(url)) return SCP.test(url) || !url.includes(":") ? undefined : "is no address that git knows";
  if (!URL.canParse(url)) return "is no address";
  const { protocol, username, password, hostname } = new URL(url);
  if (!SCHEMES.has(protocol)) return "must be https, http, ssh, git or file";
  if (password !== "" || (username !== "" && protocol !== "ssh:")) return "must hold no user or password; give them as credential";
  return hostname.startsWith("-") || username.startsWith("-") ? "has a host that begins with a dash" : undefined;
}
