import { BelljarError } from "../../errors.ts";
import type { Principal } from "../../sandbox/sandbox.ts";
import type { BuildFiles } from "./build-files.ts";
import { toBuild } from "./build-record.ts";

/** Of one owner at once. */
const GOING_MAX = 8;
/** Of one owner, with those that go on and those that wait. Beyond them the oldest of the others go. */
const KEPT_MAX = 32;

/**
 * Rejects with `QUOTA_EXCEEDED` if too many of the owner's builds go on, and forgets the oldest that do not. The one that begins is there
 * already: of several that come at once none is too many, though all may be refused.
 */
export async function makeRoom(files: BuildFiles, { id: owner }: Pick<Principal, "id">): Promise<void> {
  const own = (await files.list()).filter((one) => one.owner === owner);
  const builds = await Promise.all(own.map(toBuild));
  const others = builds.filter(({ state }) => state !== "building").toSorted((a, b) => a.startedAt.getTime() - b.startedAt.getTime());
  if (builds.length - others.length > GOING_MAX)
    throw new BelljarError("QUOTA_EXCEEDED", `${GOING_MAX} of your builds go on: wait for one, or stop one`, { retryAfterMs: 10_000 });
  for (const { id } of others.slice(0, Math.max(0, builds.length - KEPT_MAX))) await files.forget(id);
}
