import type { DefaultRequest, FoundDefault } from "../default-sandboxes.ts";
import type { Journal } from "../journal.ts";
import type { LiveSandboxes } from "../live-sandboxes.ts";
import type { LocalSandbox } from "../local-sandbox.ts";
import { mayReach } from "../reach.ts";
import { notReady, unlessLost, unlessRefused } from "../refusals.ts";

export interface DefaultHome {
  readonly journal: Pick<Journal, "read">;
  readonly live: Pick<LiveSandboxes, "open" | "ends" | "startAgain">;
}

/**
 * The sandbox of that id, started again if it is stopped. Undefined once it has ended, and if its files are lost; as long as that is not
 * known no other one takes its place.
 */
export async function findDefault(
  { journal, live }: DefaultHome,
  { principal, signal }: Pick<DefaultRequest, "principal" | "signal">,
  id: string,
): Promise<FoundDefault | undefined> {
  const entry = await journal.read(id);
  if (!entry || entry.end || !mayReach(principal, entry.record)) return undefined;
  const sandbox = await live.open(entry.record);
  if (sandbox) return { sandbox };
  const end = await live.ends.settle(entry.record);
  if (!end) throw notReady(entry.record);
  if (!end.kept) return undefined;
  const started = await unlessLost(live.startAgain(entry.record, signal, principal));
  if (started) return { sandbox: started, started: true };
  await live.ends.removeKept(entry.record, "files_lost");
  return undefined;
}

/** A default sandbox that an earlier Belljar made is kept after its deadline as well, unless its files could not be. */
export async function keepAfterDeadline(sandbox: LocalSandbox): Promise<void> {
  const { deadline, deadlineAction } = await sandbox.usage();
  if (deadlineAction === "kill" && deadline) await unlessRefused(sandbox.extend(Math.max(1, deadline.getTime() - Date.now()), "stop"));
}
