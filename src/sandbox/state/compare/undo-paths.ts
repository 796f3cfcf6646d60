import type { ChangedPaths } from "../../wire/state-schemas.ts";
import { collectAllChanges } from "./collect-changes.ts";
import type { UndoRequest } from "./requests.ts";
import { partUnseen } from "./part-unseen.ts";
import { selectStatePaths } from "./select-state-paths.ts";
import { writeChanges } from "./write-changes.ts";

/** Gives paths of a live sandbox what they held in a state. Whatever came since in a folder that is named goes. */
export async function undoPaths(request: UndoRequest): Promise<ChangedPaths> {
  const { states, to, now, guest, paths, signal } = request;
  const isSelected = selectStatePaths(paths, now.sandbox);
  const changes = await collectAllChanges(now, to, { states, isSelected, signal });
  const writes = [...changes].map(([key, { before, after }]) => ({ key, now: before, wanted: after }));
  const { unseen, rest } = partUnseen(changes, writes);
  const written = await writeChanges({ states, from: to, guest, signal }, rest);
  return { changed: written.changed, conflicts: [...unseen, ...written.conflicts] };
}
