import { lstatSync, readdirSync, realpathSync } from "node:fs";
import { join, parse } from "node:path";
import { BelljarError } from "../../errors.ts";
import { fileError, nowIfPresent } from "../../files/file-error.ts";
import { LANGUAGE_OF_END, toEdit } from "./manifest.ts";
import { readUnitFile, readUnitFolder, UNIT_FILES } from "./read-unit-folder.ts";
import { unitNameSchema } from "./stored-unit.ts";
import { ToldLater } from "./told-later.ts";
import type { EditProblem, UnitEdit } from "./unit-store.ts";
import { watchTree } from "./watch-tree.ts";

const TOLD_AFTER_MS = 40;
const NAMES_MAX = 10_000;
const ENDS: readonly string[] = [...LANGUAGE_OF_END.keys()];

/** What a person's folder has under a name. */
export type FolderUnit = Exclude<UnitEdit, { readonly kind: "removed" }>;

/** A folder of tools that a person keeps, such as a checkout. Belljar reads it and never writes into it. Disposal ends the watch. */
export interface FolderOfTools extends Disposable {
  /** The names of all units that the folder has now, in order. */
  names(): readonly string[];
  /** The unit as the files say it now. Undefined if the folder has none of that name. */
  read(name: string): Promise<FolderUnit | undefined>;
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

function toRealFolder(folder: string): string {
  try {
    const root = realpathSync(folder);
    if (lstatSync(root).isDirectory()) return root;
  } catch (cause) {
    throw fileError(folder, cause);
  }
  throw new BelljarError("FILE_IO", `${folder} is not a folder: name the folder that has the tools`);
}

/** The unit that a change is about: `weather.py`, `weather`, or `weather/tool.py`. */
function nameOfChange([entry = "", file]: readonly string[]): string | undefined {
  if (file !== undefined) return UNIT_FILES.includes(file) && isName(entry) ? entry : undefined;
  return nameOfFile(entry) ?? (isName(entry) ? entry : undefined);
}

function nameOfFile(entry: string): string | undefined {
  const { name, ext } = parse(entry);
  return ENDS.includes(ext.slice(1)) && isName(name) ? name : undefined;
}

function isName(name: string): boolean {
  return !name.startsWith(".") && unitNameSchema.safeParse(name).success;
}

function listNames(root: string, report: (problem: string) => void): readonly string[] {
  const entries = nowIfPresent(root, () => readdirSync(root, { withFileTypes: true })) ?? [];
  const names = entries.flatMap((entry) => (entry.isDirectory() ? folderName(root, entry.name) : (nameOfFile(entry.name) ?? [])));
  const sorted = [...new Set(names)].toSorted();
  if (sorted.length > NAMES_MAX)
    report(`${root} has over ${NAMES_MAX} tools: those after ${JSON.stringify(sorted[NAMES_MAX - 1])} are left out`);
  return sorted.slice(0, NAMES_MAX);
}

/** A folder is a unit's if it has one of the files. */
function folderName(root: string, name: string): readonly string[] {
  const has = (file: string): boolean => nowIfPresent(root, () => lstatSync(join(root, name, file))) !== undefined;
  return isName(name) && UNIT_FILES.some(has) ? [name] : [];
}

async function readUnit(root: string, name: string): Promise<FolderUnit | undefined> {
  if (!isName(name)) return undefined;
  const { texts, problem } = await readTexts(root, name);
  if (problem) return { kind: "invalid", problem };
  if (texts.size === 0) return undefined;
  const edit = toEdit(texts);
  return edit.kind === "removed" ? undefined : edit;
}

interface FoundTexts {
  readonly texts: ReadonlyMap<string, string>;
  readonly problem?: EditProblem;
}

/** Files beside the folder of the same name count as in it, so that two of them are a problem that is told. */
async function readTexts(root: string, name: string): Promise<FoundTexts> {
  const { files, problem } = await readUnitFolder(join(root, name));
  const texts = new Map(files.map((file) => [file.name, file.text]));
  if (problem) return { texts, problem: { ...problem, file: `${name}/${problem.file}` } };
  for (const end of ENDS) {
    const file = `${name}.${end}`;
    const found = await readUnitFile(join(root, file), file);
    if (typeof found === "string") return { texts, problem: { file, message: found } };
    if (found) texts.set(file, found.text);
  }
  return { texts };
}
