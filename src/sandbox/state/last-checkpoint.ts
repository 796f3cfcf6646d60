import { BelljarError } from "../../errors.ts";
import type { Sandbox } from "../sandbox.ts";

/** The checkpoint from which a sandbox's files come. Rejects with `CHECKPOINT_NOT_FOUND` if it has none. */
export async function lastCheckpoint({ id, timeLine }: Pick<Sandbox, "id" | "timeLine">): Promise<string> {
  const { head } = await timeLine.list();
  if (head !== undefined) return head;
  throw new BelljarError(
    "CHECKPOINT_NOT_FOUND",
    `Sandbox ${id} has no checkpoint to compare with: take one, and compare after the next change`,
  );
}
