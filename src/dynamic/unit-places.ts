import { BelljarError } from "../errors.ts";
import { LOCAL } from "../sandbox/sandbox.ts";
import type { FolderOfTools } from "./store/folder-of-tools.ts";
import type { EditableStore, UnitId } from "./store/unit-store.ts";

/** A unit that is removed here would come back with the next look at the folder. Throws `TOOL_IN_FOLDER`, which names the place. */
export function assertNotInFolder(folder: Pick<FolderOfTools, "placeOf"> | undefined, { owner, name }: UnitId): void {
  const place = owner === LOCAL.id ? folder?.placeOf(name) : undefined;
  if (place === undefined) return;
  throw new BelljarError("TOOL_IN_FOLDER", `"${name}" comes from ${place}: remove that, and the tool goes with it, or disable the tool`);
}

/** Of a removed unit: where files are that a person has changed by hand, which nobody else removes. Never rejects: it says why it cannot tell. */
export async function tellLeftFiles(
  edits: Pick<EditableStore, "edited" | "placeOf">,
  { owner, name }: UnitId,
): Promise<string | undefined> {
  try {
    if (!(await edits.edited(owner, name))) return undefined;
    return `"${name}" is removed. Its files in ${edits.placeOf(owner, name)} were changed by hand and stay: remove them yourself`;
  } catch (cause) {
    return `"${name}" is removed. Whether files of it were changed by hand and stay cannot be told: ${String(cause)}`;
  }
}
