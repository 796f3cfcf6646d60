import { realpath } from "node:fs/promises";
import { posix, relative } from "node:path";
import { BelljarError } from "../errors.ts";
import type { Sandbox, Sandboxes } from "../sandbox/sandbox.ts";
import { LIVE_STATES, LOCAL } from "../sandbox/sandbox.ts";
import type { CommandCall } from "./command.ts";
import { textOption } from "./command.ts";

export interface WorkspaceTarget {
  readonly id: string;
  /** Below the workspace. */
  readonly paths: readonly string[];
}

/**
 * The sandbox and paths that a command is about: `sandbox diff` and `sandbox apply` name both. `diff` and `apply` are about the sandbox that has
 * the folder in which they run as its workspace, or holds it there; `--sandbox` names one of several. Paths are then relative to that folder.
 */
export async function findTarget(call: CommandCall, sandboxes: Sandboxes, cwd: string): Promise<WorkspaceTarget> {
  const [first = "", ...rest] = call.positionals;
  if (call.spec.name.startsWith("sandbox ")) return { id: first, paths: rest };
  const folder = await realpath(cwd);
  const named = textOption(call, "sandbox");
  const found = named === undefined ? await findByFolder(sandboxes, folder, call.spec.name) : await sandboxes.info(LOCAL, named);
  const below = relative(found.workspace?.path ?? folder, folder);
  if (below === ".." || below.startsWith("../")) return { id: found.id, paths: call.positionals };
  const wanted = call.positionals.length === 0 && below !== "" ? ["."] : call.positionals;
  return { id: found.id, paths: wanted.map((path) => posix.join(below, path)) };
}

type Found = Awaited<ReturnType<Sandbox["info"]>>;

async function findByFolder(sandboxes: Sandboxes, folder: string, command: string): Promise<Found> {
  const found: Found[] = [];
  let cursor: string | undefined;
  do {
    const page = await sandboxes.list(LOCAL, { filter: { state: LIVE_STATES }, ...(cursor !== undefined && { cursor }) });
    found.push(...page.sandboxes.filter(({ workspace }) => workspace?.mode === "copy" && holds(workspace.path, folder)));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  const [only] = found;
  if (only && found.length === 1) return only;
  if (!only)
    throw new BelljarError(
      "WORKSPACE_INVALID",
      `No live sandbox has a copy of ${folder}: name one as \`belljar sandbox ${command} ID\`; \`belljar sandbox list\` shows them`,
    );
  const ids = found.map(({ id }) => id).join(", ");
  throw new BelljarError("WORKSPACE_INVALID", `${found.length} sandboxes have a copy of ${folder}: name one with --sandbox ID: ${ids}`);
}

function holds(path: string, folder: string): boolean {
  return folder === path || folder.startsWith(`${path}/`);
}
