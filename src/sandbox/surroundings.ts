import { posix } from "node:path";
import { BelljarError } from "../errors.ts";
import { INSIDE } from "../protocol/inside.ts";
import type { Inside } from "../runtime/contract/run.ts";
import type { Workspace } from "../runtime/contract/sandbox-spec.ts";
import type { Guest, Sandbox, SandboxInfo } from "./sandbox.ts";
import { isBelow } from "../files/is-below.ts";
import { printable } from "../files/printable.ts";

type Network = SandboxInfo["network"];

const RULES_SHOWN = 20;
const NO_REPOSITORY =
  "Git has no repository here: the folder is a linked worktree or a submodule, and its repository lies elsewhere on the host.";
const GIT_FILE_BYTES = 8_192;
const LOOK_MS = 2_000;
/** Where hosts keep their users' files, and no template has any. */
const HOST_PLACES = /^(?:\/(?:home|Users|Volumes|mnt|media|srv|private)\/|[A-Za-z]:[\\/])/;
/** A workspace with the folder inside where it lies. */
type ShownWorkspace = Workspace & { readonly place: string };

/** As the person names it, where that path is right inside. */
function shownWorkspace(workspace: Workspace, { workspace: place, cwd }: Pick<Inside, "workspace" | "cwd">): ShownWorkspace {
  return { ...workspace, ...(cwd !== place && { path: cwd }), place: cwd };
}

/** Where the sandbox's files and its network end, a line each. Nothing is told of a network that is not known yet. */
export function tellSurroundings(workspace: ShownWorkspace | undefined, network: Network | undefined): readonly string[] {
  return [tellWorkspace(workspace), ...(network === undefined ? [] : [tellNetwork(network)])];
}

function tellWorkspace(workspace: ShownWorkspace | undefined): string {
  if (!workspace) return "Files: this sandbox has its own files. No folder of the person is here.";
  const { mode } = workspace;
  // Whoever named the folder may not be the person: a line break in it would begin a line of Belljar's.
  const [path, place] = [printable(workspace.path), printable(workspace.place)];
  const folder = path === place ? "the person's folder of the same path" : `${path} of the host`;
  switch (mode) {
    case "copy":
      return `Files: ${place} is a copy of ${folder}. Your changes stay here until the person runs \`belljar apply\` in that folder.`;
    case "ro":
      return `Files: ${place} is ${folder}, read-only.`;
    case "rw":
      return `Files: ${place} is ${folder} itself. Your changes are made there at once.`;
  }
}

function tellNetwork(network: Network): string {
  if (network === "none") return "Network: nothing can be reached.";
  if (network === "all") return "Network: the public Internet can be reached.";
  const shown = network.allow.slice(0, RULES_SHOWN).join(", ");
  const more = network.allow.length - RULES_SHOWN;
  return `Network: only this can be reached: ${shown}${more > 0 ? `, and ${more} more rules` : ""}.`;
}

/** The lines of a sandbox as it is now. Empty if it does not say how it is: the call itself then says why. */
export async function introduce(sandbox: Pick<Sandbox, "info" | "guest" | "inside">): Promise<readonly string[]> {
  const info = await sandbox.info().catch(() => undefined);
  if (!info) return [];
  const { workspace, network } = info;
  if (!workspace) return tellSurroundings(undefined, network);
  const isGitElsewhere = await leadsElsewhere(sandbox).catch(() => false);
  const [files = "", ...rest] = tellSurroundings(shownWorkspace(workspace, info.inside), network);
  return [isGitElsewhere ? `${files} ${NO_REPOSITORY}` : files, ...rest];
}

/** The workspace's `.git` is a file that names a folder, and no such folder is inside. */
async function leadsElsewhere({ guest, inside }: Pick<Sandbox, "guest" | "inside">): Promise<boolean> {
  const signal = AbortSignal.timeout(LOOK_MS);
  const path = posix.join(inside.workspace, ".git");
  if ((await guest.files.stat(path, { follow: false, signal })).type !== "file") return false;
  const text = String(await guest.files.read(path, { maxBytes: GIT_FILE_BYTES, signal }));
  const folder = /^gitdir: (.+)\n?$/.exec(text)?.[1];
  return folder !== undefined && !(await isThere(guest, posix.resolve(inside.workspace, folder), signal));
}

async function isThere({ files }: Guest, path: string, signal: AbortSignal): Promise<boolean> {
  try {
    await files.stat(path, { follow: true, signal });
    return true;
  } catch (cause) {
    if (cause instanceof BelljarError && (cause.code === "FILE_NOT_FOUND" || cause.code === "FILE_NOT_DIRECTORY")) return false;
    throw cause;
  }
}

/** Advice for a path that is not there, if it looks like one of the host. `message` names the path. */
export async function findHostHint(sandbox: Pick<Sandbox, "info">, args: unknown, message: string): Promise<string | undefined> {
  const path = pathsIn(args).find((one) => message.includes(one));
  if (path === undefined) return undefined;
  const { workspace, project, inside } = await sandbox.info();
  const { home, workspace: place, cwd } = inside;
  // A path of the root itself names no folder of a project.
  const isIn = (folder: string): boolean => folder !== "/" && isBelow(path, folder);
  if ([home, place, cwd, INSIDE.workspace].some(isIn)) return undefined;
  if (workspace && isIn(workspace.path)) {
    return printable(`${workspace.path} of the host is ${place} here: use ${place}${path.slice(workspace.path.length)}`);
  }
  if (!HOST_PLACES.test(path) && !(project !== undefined && isIn(project))) return undefined;
  const shown = workspace && `only ${workspace.path}${place === workspace.path ? "" : `, as ${place}`}`;
  return printable(
    `It looks like a path of the host, of which this sandbox has ${shown ?? "no folder: a person shows it one with `--workspace DIR`"}`,
  );
}

function pathsIn(args: unknown): readonly string[] {
  if (typeof args !== "object" || args === null) return [];
  const texts = Object.values(args).flatMap((value): unknown[] => (Array.isArray(value) ? value : [value]));
  return texts.filter(
    (text): text is string => typeof text === "string" && /^(?:\/[^/]|[A-Za-z]:[\\/])/.test(text) && !text.includes("\n"),
  );
}
