import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { BelljarError } from "../../errors.ts";
import type { Sandbox } from "../sandbox.ts";
import { readCommits, readCount, since } from "./commit-list.ts";
import { hostGit } from "./host-git.ts";

const BUNDLE_MAX_BYTES = 256 * 1024 * 1024;
const LIST_MAX_BYTES = 1024 * 1024;
const KNOWN_MAX = 1000;
const TIMEOUT_MS = 60_000;

/** What is fetched is checked object by object, kept as one pack, and starts nothing. */
const FETCH = {
  protocol: "file",
  settings: [
    "protocol.file.allow=always",
    "transfer.fsckObjects=true",
    "fetch.fsckObjects=true",
    "transfer.unpackLimit=1",
    "fetch.unpackLimit=1",
    "fetch.recurseSubmodules=false",
    "fetch.writeCommitGraph=false",
    "core.bigFileThreshold=1m",
    "credential.helper=",
  ],
} as const;

interface Repository {
  readonly sandbox: Sandbox;
  readonly hostPath: string;
  readonly signal: AbortSignal;
}

export interface FetchedCommits {
  readonly branch: string;
  readonly commits: number;
}

/** How many commits a sandbox's HEAD has that the host's branches have not. The guest's answer is a number or nothing. */
export async function countCommits(repository: Repository): Promise<number> {
  const known = await findKnown(repository);
  if (!known) return 0;
  const counted = await insideGit(repository, ["rev-list", "--count", ...since(known)], LIST_MAX_BYTES);
  return readCount(counted);
}

/**
 * Brings the commits of a sandbox's HEAD to the branch `belljar/ID` of the host's repository, as a bundle that git makes inside and the host's
 * git checks. No other ref, no file and no setting of the host changes, and the host's git never opens the sandbox's repository.
 * `WORKSPACE_CONFLICT` when the host's git refuses them.
 */
export async function fetchCommits(repository: Repository): Promise<FetchedCommits | undefined> {
  const { sandbox, hostPath, signal } = repository;
  const known = await findKnown(repository);
  const bundle = known && (await insideGit(repository, ["bundle", "create", "--quiet", "-", ...since(known)], BUNDLE_MAX_BYTES));
  if (!bundle) return undefined;
  const branch = `belljar/${sandbox.id}`;
  const folder = await mkdtemp(join(tmpdir(), "belljar-bundle-"));
  try {
    await writeFile(join(folder, "bundle"), bundle, { mode: 0o600, flag: "wx" });
    const call = { folder: hostPath, maxBytes: LIST_MAX_BYTES, signal };
    const made = await openBundle(repository, folder);
    const fetched = made && (await hostGit(fetchFrom(made, `refs/heads/made:refs/heads/${branch}`), { ...call, ...FETCH }));
    if (!fetched) throw refused(branch);
    const count = await hostGit(["rev-list", "--count", `refs/heads/${branch}`, "--not", ...known], call);
    return { branch, commits: readCount(count) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * A repository of this function's own with the bundle's HEAD as the branch `made`, and the host's objects beside. Git checks objects that it
 * fetches from a repository, and not those of a bundle. Undefined when git refuses the bundle.
 */
async function openBundle({ hostPath, signal }: Repository, folder: string): Promise<string | undefined> {
  const call = { folder, maxBytes: LIST_MAX_BYTES, signal };
  const objects = await hostGit(["rev-parse", "--git-path", "objects"], { ...call, folder: hostPath });
  const made = await hostGit(["init", "--quiet", "--bare", "--template=", "made"], call);
  if (!objects || !made) return undefined;
  const path = join(folder, "made");
  await mkdir(join(path, "objects/info"), { recursive: true });
  await writeFile(join(path, "objects/info/alternates"), `${resolve(hostPath, objects.toString().trimEnd())}\n`);
  const fetched = await hostGit(["--git-dir", path, ...fetchFrom(join(folder, "bundle"), "HEAD:refs/heads/made")], { ...call, ...FETCH });
  return fetched && path;
}

function fetchFrom(source: string, refs: string): readonly string[] {
  const options = ["--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--no-auto-maintenance"];
  return ["fetch", ...options, source, refs];
}

/** The latest commits of the host: inside, those that it made since are missing. Undefined unless the workspace is the top folder of a repository of its own. */
async function findKnown({ hostPath, signal }: Repository): Promise<readonly string[] | undefined> {
  const call = { folder: hostPath, maxBytes: LIST_MAX_BYTES, signal };
  const [top, commits] = await Promise.all([
    hostGit(["rev-parse", "--show-toplevel"], call),
    hostGit(["rev-list", "--all", `--max-count=${KNOWN_MAX}`], call),
  ]);
  if (top?.toString().trimEnd() !== hostPath || !commits) return undefined;
  return readCommits(commits);
}

/** Undefined when git is missing inside, fails, or says too much. */
async function insideGit({ sandbox, signal }: Repository, args: readonly string[], maxOutputBytes: number): Promise<Buffer | undefined> {
  const argv = ["git", "-c", "safe.directory=*", ...args];
  try {
    const { exitCode, stdout, truncated } = await sandbox.guest.run({
      argv,
      cwd: sandbox.inside.workspace,
      maxOutputBytes,
      timeoutMs: TIMEOUT_MS,
      signal,
    });
    return exitCode === 0 && !truncated ? stdout : undefined;
  } catch (cause) {
    if (cause instanceof BelljarError && cause.code === "COMMAND_NOT_FOUND") return undefined;
    throw cause;
  }
}

function refused(branch: string): BelljarError {
  return new BelljarError(
    "WORKSPACE_CONFLICT",
    `Git on this machine refuses the commits made inside: they are damaged or not allowed, or the branch ${branch} is checked out here or has commits of its own. Rename that branch, and apply again`,
  );
}
