import { fileError } from "../../files/file-error.ts";
import { UNIT_FILES } from "./read-unit-folder.ts";
import { ToldLater } from "./told-later.ts";
import { type FolderUnit, isFolderName, listNames, nameOfFile, placeOfUnit, readUnit, toRealFolder } from "./units-in-folder.ts";
import { watchTree } from "./watch-tree.ts";

const TOLD_AFTER_MS = 40;

/** A folder of tools that a person keeps, such as a checkout. Belljar reads it and never writes into it. Disposal ends the watch. */
export interface FolderOfTools extends Disposable {
  /** The names of all units that the folder has now, in order. */
  names(): readonly string[];
  /** The unit as the files say it now. Undefined if the folder has none of that name. */
  read(name: string): Promise<FolderUnit | undefined>;
  /** Where the files of the unit lie now. Undefined if the folder has none of that name. */
  placeOf(name: string): string | undefined;
  /** Calls back with the name after files of a unit have changed, until the result is called. Many changes within a moment are told once. */
  onChange(listener: (name: string) => void): () => void;
}

export interface FolderOfToolsOptions {
  /** It must exist. A unit is `<name>.py`, `.js`, `.ts` or `.sh`, or a folder `<name>` with `tool.py` and perhaps `tool.json`. */
  readonly folder: string;
  readonly report: (problem: string) => void;
}

/** Throws `FILE_IO` if the folder cannot be read. */
export function openFolderOfTools({ folder, report }: FolderOfToolsOptions): FolderOfTools {
  const root = toRealFolder(folder);
  const listeners = new Set<(name: string) => void>();
  const failed = (cause: unknown): void => report(`Some changes in ${root} are not seen: ${fileError(root, cause).message}`);
  const later = new ToldLater(
    (names) => {
      for (const name of names) for (const listener of listeners) listener(name);
    },
    { delayMs: TOLD_AFTER_MS, failed },
  );
  const watch = watchTree(root, 1, {
    changed: (path) => {
      const name = nameOfChange(path);
      if (name !== undefined) later.add(name);
    },
    failed,
  });
  return {
    names: () => listNames(root, report),
    read: (name) => readUnit(root, name),
    placeOf: (name) => placeOfUnit(root, name),
    onChange: (listener) => {
      const own = (name: string): void => listener(name);
      listeners.add(own);
      return () => listeners.delete(own);
    },
    [Symbol.dispose]: () => {
      watch.close();
      later.close();
    },
  };
}

/** The unit that a change is about: `weather.py`, `weather`, or `weather/tool.py`. */
function nameOfChange([entry = "", file]: readonly string[]): string | undefined {
  if (file !== undefined) return UNIT_FILES.includes(file) && isFolderName(entry) ? entry : undefined;
  return nameOfFile(entry) ?? (isFolderName(entry) ? entry : undefined);
}
