import { INSIDE } from "../protocol/inside.ts";
import type { Sandbox, SandboxInfo } from "./sandbox.ts";

type Workspace = NonNullable<SandboxInfo["workspace"]>;
type Network = SandboxInfo["network"];

const RULES_SHOWN = 20;
/** Where hosts keep their users' files, and no template has any. */
const HOST_PLACES = /^(?:\/(?:home|Users|Volumes|mnt|media|srv|private)\/|[A-Za-z]:[\\/])/;
/** What is inside at these places is no path of the host. */
const INSIDE_PLACES = [INSIDE.userHome, INSIDE.workspace];

/** Where the sandbox's files and its network end, a line each. Nothing is told of a network that is not known yet. */
export function tellSurroundings(workspace: Workspace | undefined, network: Network | undefined): readonly string[] {
  return [tellWorkspace(workspace), ...(network === undefined ? [] : [tellNetwork(network)])];
}

function tellWorkspace(workspace: Workspace | undefined): string {
  if (!workspace) return "Files: this sandbox has its own files. No folder of the person is here.";
  const { path, mode } = workspace;
  switch (mode) {
    case "copy":
      return `Files: ${INSIDE.userHome} is a copy of ${path}. Your changes stay here until the person runs \`belljar apply\` in that folder.`;
    case "ro":
      return `Files: ${INSIDE.userHome} is ${path} of the host, read-only.`;
    case "rw":
      return `Files: ${INSIDE.userHome} is the real folder ${path} of the host. Your changes are made there at once.`;
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
export async function introduce(sandbox: Pick<Sandbox, "info">): Promise<readonly string[]> {
  const info = await sandbox.info().catch(() => undefined);
  return info ? tellSurroundings(info.workspace, info.network) : [];
}

/** Advice for a path that is not there, if it looks like one of the host. `message` names the path. */
export async function findHostHint(sandbox: Pick<Sandbox, "info">, args: unknown, message: string): Promise<string | undefined> {
  const path = pathsIn(args).find((one) => message.includes(one));
  if (path === undefined || INSIDE_PLACES.some((place) => isBelow(path, place))) return undefined;
  const { workspace, project } = await sandbox.info();
  if (workspace && isBelow(path, workspace.path)) {
    return `${workspace.path} of the host is ${INSIDE.userHome} here: use ${INSIDE.userHome}${path.slice(workspace.path.length)}`;
  }
  if (!HOST_PLACES.test(path) && !(project !== undefined && isBelow(path, project))) return undefined;
  const has = workspace ? `only ${workspace.path}, as ${INSIDE.userHome}` : "no folder: a person shows it one with `--workspace DIR`";
  return `It looks like a path of the host, of which this sandbox has ${has}`;
}

/** A path of the root itself names no folder of a project. */
function isBelow(path: string, folder: string): boolean {
  return folder !== "/" && (path === folder || path.startsWith(`${folder}/`));
}

function pathsIn(args: unknown): readonly string[] {
  if (typeof args !== "object" || args === null) return [];
  const texts = Object.values(args).flatMap((value): unknown[] => (Array.isArray(value) ? value : [value]));
  return texts.filter(
    (text): text is string => typeof text === "string" && /^(?:\/[^/]|[A-Za-z]:[\\/])/.test(text) && !text.includes("\n"),
  );
}
