import { mkdtempSync, realpathSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openFilesStore } from "../../src/dynamic/store/files-store.ts";
import type { EditableStore, UnitEdit, UnitId } from "../../src/dynamic/store/unit-store.ts";
import type { StorePlace } from "../contract/unit-store.ts";

export const ID: UnitId = { owner: "local", name: "weather" };

/** A folder of a files store, with all that its stores reported. */
export interface FilesPlace extends StorePlace {
  readonly folder: string;
  readonly problems: readonly string[];
  open(): EditableStore;
  /** A path in the folder of `ID`. */
  readonly at: (name?: string) => string;
}

export async function makeFilesPlace(): Promise<FilesPlace> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "belljar-units-")));
  const folder = join(root, "tools");
  const problems: string[] = [];
  return {
    folder,
    problems,
    module: join(import.meta.dirname, "../../dist/lib/dynamic/store/files-store.js"),
    opens: "openFilesStore",
    options: { folder },
    open: () => openFilesStore({ folder, report: (problem) => problems.push(problem) }),
    at: (name = "") => join(folder, ID.owner, ID.name, name),
    [Symbol.asyncDispose]: () => rm(root, { recursive: true }),
  };
}

export async function edited(store: EditableStore, { owner, name } = ID): Promise<UnitEdit | undefined> {
  return store.edited(owner, name);
}
