import { BelljarError } from "../../errors.ts";
import type { Sandbox } from "../sandbox.ts";

/**
 * The last checkpoint that a sandbox's files come from and that somebody asked for; if there is none, the one before the last call. Rejects
 * with `CHECKPOINT_NOT_FOUND`.
 */
export async function lastCheckpoint({ id, timeLine }: Pick<Sandbox, "id" | "timeLine">): Promise<string> {
  const { head, checkpoints } = await timeLine.list();
  const byId = new Map(checkpoints.map((one) => [one.id, one]));
  let asked = head;
  for (const _ of checkpoints) if (byId.get(asked ?? "")?.before !== undefined) asked = byId.get(asked ?? "")?.parent;
  const last = asked ?? head;
  if (last !== undefined) return last;
  throw new BelljarError(
    "CHECKPOINT_NOT_FOUND",
    `Sandbox ${id} has no checkpoint to compare with: take one, and compare after the next change`,
  );
}
