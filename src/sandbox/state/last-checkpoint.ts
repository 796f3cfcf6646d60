import { BelljarError } from "../../errors.ts";
import type { Sandbox } from "../sandbox.ts";

/**
 * The last point that somebody asked for and from which a sandbox's files come; if there is none, the checkpoint before the last call. Rejects
 * with `CHECKPOINT_NOT_FOUND`.
 */
export async function lastCheckpoint({ id, timeLine }: Pick<Sandbox, "id" | "timeLine">): Promise<string> {
  const { head, checkpoints } = await timeLine.list();
  const unasked = new Map(checkpoints.flatMap((one) => (one.before === undefined ? [] : [[one.id, one.parent]])));
  let asked = head;
  for (let left = unasked.size; left > 0 && asked !== undefined && unasked.has(asked); left -= 1) asked = unasked.get(asked);
  const last = asked ?? head;
  if (last !== undefined) return last;
  throw new BelljarError(
    "CHECKPOINT_NOT_FOUND",
    `Sandbox ${id} has no checkpoint to compare with: take one, and compare after the next change`,
  );
}
