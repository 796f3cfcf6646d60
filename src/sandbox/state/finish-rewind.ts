import { BelljarError } from "../../errors.ts";
import type { SandboxRecord } from "../sandbox-record.ts";
import type { RunState } from "../run-states.ts";
import type { StateParts } from "./state-parts.ts";
import { needStates } from "./state-errors.ts";

/** The user of the layers that a sandbox is being put back to. */
export function rewindUser({ id }: Pick<SandboxRecord, "id">): string {
  return `rollback-${id}`;
}

/**
 * Puts a stopped sandbox back to the point that its state names, if it names one: whoever began that may have died. Doing it again is no
 * error. The caller has the lock of the work on it.
 */
export async function finishRewind(
  { live, runtimes, checkpoints }: Pick<StateParts, "live" | "runtimes" | "checkpoints">,
  record: SandboxRecord,
): Promise<void> {
  const state = await live.states.read(record);
  if (state.phase !== "stopped" || !state.rewind) return;
  const { point, layers } = state.rewind;
  const states = needStates(runtimes.need(record));
  const over = async (isDone: boolean): Promise<void> => {
    await live.states.change(record, (now) => (now.rewind ? withoutRewind(now, { isDone }) : undefined));
    await states.letGo(layers, rewindUser(record));
  };
  try {
    await states.rewind(live.states.runOf(record, state), layers);
  } catch (cause) {
    if (!(cause instanceof BelljarError && cause.code === "SANDBOX_FILES_LOST")) throw cause;
    // Nobody can ever put it back. What it has written is as it was, unless that is lost too: then its next start says so.
    await over(false);
    throw noPoint(record, point, cause);
  }
  await checkpoints.setHead(record.id, point);
  await over(true);
}

function noPoint({ id }: SandboxRecord, point: string, cause: BelljarError): BelljarError {
  return new BelljarError(
    "CHECKPOINT_NOT_FOUND",
    `The files of ${point} are gone, so sandbox ${id} was not put back and has the files that it had: use it, or roll it back to another checkpoint`,
    { cause },
  );
}

/** `isDone`: its next run shows the point, and whoever uses it is told. */
function withoutRewind({ rewind, ...rest }: RunState, { isDone }: { readonly isDone: boolean }): RunState {
  const { stopped } = rest;
  return isDone && rewind && stopped ? { ...rest, stopped: { ...stopped, point: rewind.point } } : rest;
}
