import { BelljarError } from "../../errors.ts";
import type { SandboxDefaults } from "../create-request.ts";
import type { CreateOptions, ForkOptions, Principal } from "../sandbox.ts";
import type { NamedWorkspace } from "../wire/create-schema.ts";
import type { SnapshotRecord } from "./snapshot-record.ts";

const FORKS_MAX = 100;

/** How many forks are wanted. Throws `ARGUMENTS_INVALID`. */
export function parseCount({ count = 1, name }: Pick<ForkOptions, "count" | "name">): number {
  if (!Number.isInteger(count) || count < 1 || count > FORKS_MAX)
    throw new BelljarError("ARGUMENTS_INVALID", `The count of forks is a whole number from 1 to ${FORKS_MAX}`);
  if (count === 1 || name === undefined) return count;
  throw new BelljarError("ARGUMENTS_INVALID", `Only one sandbox can have the name "${name}": leave it out, or fork once`);
}

/** What the maker of a fork says, and where it says nothing what the original was made with. */
export function toForkOptions(source: SnapshotRecord, { count: _count, ...options }: ForkOptions): CreateOptions {
  const { volumes = source.volumes?.map(({ id: volume, path }) => ({ volume, path })) } = options;
  const { project = source.project, root = source.root, autoCheckpoint = source.autoCheckpoint } = options;
  return {
    ...options,
    env: { ...without(source.env, options.secrets), ...options.env },
    metadata: { ...source.metadata, ...options.metadata },
    ...(volumes && { volumes }),
    ...(project !== undefined && { project }),
    ...(root !== undefined && { root }),
    ...(autoCheckpoint !== undefined && { autoCheckpoint }),
  };
}

/** A variable that holds a secret's placeholder is not given twice. */
function without(env: Readonly<Record<string, string>>, secrets: CreateOptions["secrets"] = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !Object.hasOwn(secrets, name)));
}

/** Limits and life of a fork whose maker names none. Nested filters only a caller without a token may have. */
export function toForkDefaults(source: SnapshotRecord, standard: SandboxDefaults, { grants }: Principal): SandboxDefaults {
  const { limits, timeoutMs } = source;
  const nestedFilters = source.nestedFilters && grants === undefined;
  return { ...standard, ...limits, timeoutMs, ...(nestedFilters && { nestedFilters }) };
}

/** A state shows the workspace that its sandbox showed: its files lie on top of that. Throws `ARGUMENTS_INVALID` for another one. */
export function toWorkspace(
  { id, workspace, tookIn }: Pick<SnapshotRecord, "id" | "workspace" | "tookIn">,
  asked?: NamedWorkspace,
): NamedWorkspace | undefined {
  if (asked && tookIn !== undefined)
    throw new BelljarError("ARGUMENTS_INVALID", `Snapshot ${id} has the files of ${tookIn} as its own: leave the workspace out`);
  if (!workspace || !asked || (asked.path === workspace.path && asked.mode === workspace.mode)) return workspace ?? asked;
  throw new BelljarError(
    "ARGUMENTS_INVALID",
    `Snapshot ${id} lies on the workspace ${workspace.path}:${workspace.mode}, and no other one: leave the workspace out`,
  );
}
