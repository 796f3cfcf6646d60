import { isDeepStrictEqual } from "node:util";
import type { Edits } from "./file-edits.ts";
import type { FolderOfTools } from "./store/folder-of-tools.ts";
import type { UnitSpec } from "./unit.ts";

export interface FolderEditsOptions {
  readonly folder: FolderOfTools;
  /** Whose tools they are, by the principal's id. */
  readonly owner: string;
  readonly newestSpec: (name: string) => Promise<UnitSpec | undefined>;
}

/** A person's folder of tools as edits: what its files say and the newest versions do not. What this process saw in it and is gone was removed. */
export function folderEdits({ folder, owner, newestSpec }: FolderEditsOptions): Edits {
  const seen = new Set<string>();
  return {
    edits: async () => folder.names().map((name) => ({ owner, name })),
    async edited(_owner, name) {
      const unit = await folder.read(name);
      if (!unit) return seen.delete(name) ? { kind: "removed" } : undefined;
      seen.add(name);
      if (unit.kind === "invalid") return unit;
      return isDeepStrictEqual(unit.spec, await newestSpec(name)) ? undefined : unit;
    },
    onEdit: (listener) => folder.onChange((name) => listener({ owner, name })),
  };
}
