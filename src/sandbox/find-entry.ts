import { mapLimit } from "../async/map-limit.ts";
import { BelljarError } from "../errors.ts";
import type { Journal, JournalEntry } from "./journal.ts";
import type { LiveSandboxes } from "./live-sandboxes.ts";
import { mayReach } from "./reach.ts";
import { unknown } from "./refusals.ts";
import { isSandboxId, isShortId } from "./sandbox-id.ts";
import type { Principal } from "./sandbox.ts";

/** How many folders are looked at together. */
const PARALLEL = 16;

export interface Records {
  readonly journal: Pick<Journal, "read" | "ids">;
  readonly live: Pick<LiveSandboxes, "held">;
}

/** What is written of the sandbox of that id or short id. One that the principal may not reach and none are the same answer. */
export async function findEntry({ journal, live }: Records, principal: Principal, id: string): Promise<JournalEntry> {
  const held = live.held(id);
  const entry = held ? { record: held.record } : await readEntry(journal, principal, id);
  if (entry && mayReach(principal, entry.record)) return entry;
  throw unknown(id);
}

async function readEntry(journal: Records["journal"], principal: Principal, id: string): Promise<JournalEntry | undefined> {
  if (isSandboxId(id)) return journal.read(id);
  return isShortId(id) ? readShort(journal, principal, id) : undefined;
}

async function readShort(journal: Records["journal"], principal: Principal, shortId: string): Promise<JournalEntry | undefined> {
  const ids = (await journal.ids()).filter((id) => id.startsWith(shortId));
  const entries = await mapLimit(ids, PARALLEL, (id) => journal.read(id));
  const reached = entries.filter((entry) => entry && mayReach(principal, entry.record));
  if (reached.length > 1)
    throw new BelljarError("ARGUMENTS_INVALID", `The short id ${shortId} names ${reached.length} sandboxes: use the full id`);
  return reached[0];
}
