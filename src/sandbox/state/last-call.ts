import { BelljarError } from "../../errors.ts";
import type { Sandbox } from "../sandbox.ts";
import type { Checkpoint } from "../wire/state-schemas.ts";

/**
 * The checkpoint before the last `calls` calls that led to the files of a sandbox: a rollback to it takes them back. Rejects with
 * `CHECKPOINT_NOT_FOUND` if fewer have one.
 */
export async function checkpointBeforeCalls({ id, timeLine }: Pick<Sandbox, "id" | "timeLine">, calls: number): Promise<Checkpoint> {
  const { checkpoints, calls: known = [] } = await timeLine.list();
  const wanted = known[calls - 1];
  const found = checkpoints.find((one) => one.id === wanted);
  if (wanted !== undefined && found) return found;
  const has = known.length === 0 ? "no call has" : known.length === 1 ? "one call has" : `${known.length} calls have`;
  throw new BelljarError(
    "CHECKPOINT_NOT_FOUND",
    `Of the calls that led to the files of sandbox ${id}, ${has} a checkpoint (setting sandbox.autoCheckpoint): \`belljar log ${id}\` shows all checkpoints`,
  );
}
