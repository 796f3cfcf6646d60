import { BelljarError } from "../../../errors.ts";
import type { Principal, Sandboxes } from "../../../sandbox/sandbox.ts";
import type { SnapshotInfo } from "../../../sandbox/wire/state-schemas.ts";
import { teamOf } from "./team.ts";

/** `NAMESPACE/NAME:TAG`. There is one namespace: the caller's own. */
const REFERENCE = /^(?:[a-z0-9][a-z0-9_-]{0,62}\/)?([a-z0-9][a-z0-9._-]{0,62})(?::([A-Za-z0-9][A-Za-z0-9._-]{0,62}))?$/;
const DEFAULT_TAG = "default";
/** How a snapshot says that it has the name of an earlier one, which it has replaced: the domain renames none. */
const MARKER = "E2B's clients call it ";

/** A name, or an id, without what E2B's clients may write around it; with its tag unless that is the usual one. Undefined for no reference. */
export function parseReference(text: string): string | undefined {
  const [, name, tag = DEFAULT_TAG] = REFERENCE.exec(text) ?? [];
  return name === undefined || tag === DEFAULT_TAG ? name : `${name}:${tag}`;
}

/** As E2B's clients name it: where a template is asked, and where it is deleted. */
export function snapshotIdOf(snapshot: SnapshotInfo): string {
  const name = nameOf(snapshot) ?? snapshot.id;
  return name.includes(":") ? name : `${name}:${DEFAULT_TAG}`;
}

export function namesOf(snapshot: SnapshotInfo): string[] {
  const name = nameOf(snapshot);
  return name === undefined ? [] : [name.split(":", 1)[0] ?? name];
}

/** Undefined also for a name that no reference can say, as Belljar's other clients may give one. */
function nameOf({ name, description }: SnapshotInfo): string | undefined {
  const told = name ?? (description?.startsWith(MARKER) ? description.slice(MARKER.length) : undefined);
  return told !== undefined && parseReference(told) === told ? told : undefined;
}

type Named = Pick<Sandboxes, "snapshots">;

/** Those of the caller of that id or name, the newest first. */
async function findAll({ snapshots }: Named, caller: Principal, text: string): Promise<readonly SnapshotInfo[]> {
  const reference = parseReference(text);
  const team = text.includes("/") ? text.split("/", 1)[0] : undefined;
  if (reference === undefined || (team !== undefined && team !== teamOf(caller).slug)) return [];
  return (await snapshots.list(caller)).filter((one) => one.id === reference || nameOf(one) === reference);
}

/** The caller's snapshot that a client names in the place of a template. */
export async function findSnapshot(sandboxes: Named, caller: Principal, text: string): Promise<SnapshotInfo | undefined> {
  return (await findAll(sandboxes, caller, text))[0];
}

/** For the route that deletes templates. Resolves with whether there was one. */
export async function removeSnapshot(sandboxes: Named, caller: Principal, text: string): Promise<boolean> {
  const found = await findAll(sandboxes, caller, text);
  for (const { id } of found) await sandboxes.snapshots.remove(caller, id).catch(unlessGone);
  return found.length > 0;
}

export interface SnapshotWish {
  readonly sandbox: string;
  readonly name: string | undefined;
  readonly signal: AbortSignal;
}

/** A snapshot of a name that is taken takes the place of the earlier one, which goes once the new one is there. */
export async function takeSnapshot(
  { snapshots }: Named,
  caller: Principal,
  { sandbox, name, signal }: SnapshotWish,
): Promise<SnapshotInfo> {
  if (name === undefined) return snapshots.create(caller, sandbox, {}, signal);
  const reference = parseReference(name);
  if (reference === undefined)
    throw new BelljarError(
      "ARGUMENTS_INVALID",
      "A snapshot's name has a-z, 0-9, dot, dash and underscore, and perhaps a tag behind a colon",
    );
  const earlier = (await snapshots.list(caller)).filter((one) => nameOf(one) === reference);
  const options = earlier.length > 0 ? { description: `${MARKER}${reference}` } : { name: reference };
  const made = await snapshots.create(caller, sandbox, options, signal);
  for (const { id } of earlier) await snapshots.remove(caller, id).catch(unlessGone);
  return made;
}

function unlessGone(cause: unknown): void {
  if (!(cause instanceof BelljarError && cause.code === "SNAPSHOT_NOT_FOUND")) throw cause;
}
