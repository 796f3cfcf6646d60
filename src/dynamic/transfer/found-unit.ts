import type { FolderUnit } from "../store/units-in-folder.ts";

/** A unit as somebody's files have it, or why it cannot be read. */
export interface FoundUnit {
  readonly name: string;
  readonly found: FolderUnit;
}
