import { BelljarError } from "../../errors.ts";
import type { SandboxRecord } from "../sandbox-record.ts";
import { type Rewind, withoutRewind } from "../run-states.ts";
import type { StateParts } from "./state-parts.ts";
import { needStates } from "./state-errors.ts";

/** The user of the layers that a sandbox is being put back to. */
export function rewindUser({ id }: Pick<SandboxRecord, "id">): string {
  return `rollback-${id}`;
}

type RewindParts = Pick<StateParts, "live" | "runtimes" | "checkpoints">;

/**
 * Puts a stopped sandbox back to the point that its state names, if it names one: whoever began that may have died. Doing it again is no
 * error. The caller has the lock of the work on it.
 */
export async function finishRewind(parts: RewindParts, record: SandboxRecord): Promise<void> {
  const rewind = await putBack(parts, record);
  if (rewind) await forgetRewind(parts, record, { rewind, isDone: true });
}

/** The same, but the state still names the point, until the next run starts: nothing is lost if it never does. Resolves with what it names. */
export async function putBack(parts: RewindParts, record: SandboxRecord): Promise<Rewind | undefined> {
  const { live, runtimes, checkpoints } = parts;
  const state = await live.states.read(record);
  if (state.phase !== "stopped" || !state.rewind) return undefined;
  const { rewind } = state;
  const states = needStates(runtimes.need(record));
  try {
    await states.rewind(live.states.runOf(record, state), rewind.layers);
  } catch (cause) {
    if (!(cause instanceof BelljarError && cause.code === "SANDBOX_FILES_LOST")) throw cause;
    // Nobody can ever put it back. What it has written is as it was, unless it is that which is lost.
    await forgetRewind(parts, record, { rewind, isDone: false });
    throw (await states.has(rewind.layers)) ? cause : noPoint(record, rewind.point, cause);
  }
  await checkpoints.setHead(record.id, rewind.point);
  return rewind;
}

async function forgetRewind(
  { live, runtimes }: RewindParts,
  record: SandboxRecord,
  { rewind, isDone }: { readonly rewind: Rewind; readonly isDone: boolean },
): Promise<void> {
  await live.states.change(record, (now) => (now.rewind ? withoutRewind(now, { isDone }) : undefined));
  await needStates(runtimes.need(record)).letGo(rewind.layers, rewindUser(record));
}

function noPoint({ id }: SandboxRecord, point: string, cause: BelljarError): BelljarError {
  return new BelljarError(
    "CHECKPOINT_NOT_FOUND",
    `The files of ${point} are gone, so sandbox ${id} was not put back and has the files that it had: use it, or roll it back to another checkpoint`,
    { cause },
  );
}
