import type { SandboxRecord } from "../sandbox-record.ts";
import type { Checkpoint } from "../wire/state-schemas.ts";
import { createCheckpointId } from "./checkpoint-files.ts";
import { freezeSandbox } from "./freeze-sandbox.ts";
import { needStates } from "./state-errors.ts";
import type { StateParts } from "./state-parts.ts";
import { toCheckpoint } from "./stored-checkpoint.ts";

export interface CheckpointRequest {
  readonly record: SandboxRecord;
  readonly more: Pick<Checkpoint, "label" | "before">;
  readonly signal: AbortSignal;
  /** Called once it is written down. What is left of the work need not be waited for. */
  readonly kept?: () => void;
}

/** The user of a checkpoint's layers. */
export function checkpointUser({ id }: Pick<SandboxRecord, "id">, checkpoint: string): string {
  return `checkpoint-${id}-${checkpoint}`;
}

/** One that was asked for begins a line. One that was taken before a call stands on the present line, and nothing else is written for it. */
export async function takeCheckpoint(parts: StateParts, { record, more, signal, kept }: CheckpointRequest): Promise<Checkpoint> {
  const { checkpoints, report } = parts;
  const id = createCheckpointId();
  await checkpoints.assertRoom(record.id);
  return freezeSandbox(parts, { record, user: checkpointUser(record, id), durable: false, isOwn: true, signal }, async (frozen) => {
    const { at: createdAt, ...state } = frozen;
    const [{ point: parent, line }, order] = await Promise.all([checkpoints.head(record.id), checkpoints.nextOrder(record.id)]);
    const stored = { version: 1, id, createdAt, order, ...state, line, ...more, ...(parent !== undefined && { parent }) } as const;
    await checkpoints.add(record.id, stored);
    kept?.();
    if (more.before === undefined) await checkpoints.setHead(record.id, id).catch((cause: unknown) => report(headUnknown(record, cause)));
    return toCheckpoint(stored);
  });
}

/** Whether there was one. */
export async function removeCheckpoint({ checkpoints, runtimes }: StateParts, record: SandboxRecord, id: string): Promise<boolean> {
  const found = await checkpoints.find(record.id, id);
  if (!found || !(await checkpoints.remove(record.id, id))) return false;
  await needStates(runtimes.need(record)).letGo(found.layers, checkpointUser(record, id));
  return true;
}

function headUnknown({ id }: SandboxRecord, cause: unknown): string {
  return `The time line of sandbox ${id} does not show which checkpoint it comes from: ${String(cause)}`;
}
