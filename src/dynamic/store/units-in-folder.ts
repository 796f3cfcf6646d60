import { lstatSync, readdirSync, realpathSync } from "node:fs";
import { join, parse } from "node:path";
import { BelljarError } from "../../errors.ts";
import { fileError, nowIfPresent } from "../../files/file-error.ts";
import { codeFileOf, LANGUAGE_OF_END, MANIFEST, toEdit } from "./manifest.ts";
import { readUnitFile, readUnitFolder, UNIT_FILES } from "./read-unit-folder.ts";
import { unitNameSchema } from "./stored-unit.ts";
import type { EditProblem, UnitEdit } from "./unit-store.ts";

const NAMES_MAX = 10_000;
const ENDS: readonly string[] = [...LANGUAGE_OF_END.keys()];

/** What a person's folder has under a name. */
export type FolderUnit = Exclude<UnitEdit, { readonly kind: "removed" }>;

/** Throws `FILE_IO` if there is no such folder. */
export function toRealFolder(folder: string): string {
  try {
    const root = realpathSync(folder);
    if (lstatSync(root).isDirectory()) return root;
  } catch (cause) {
    throw fileError(folder, cause);
  }
  throw new BelljarError("FILE_IO", `${folder} is not a folder: name the folder that has the tools`);
}

/** The unit that a file beside the folders holds: `weather.py`. */
export function nameOfFile(entry: string): string | undefined {
  const { name, ext } = parse(entry);
  return ENDS.includes(ext.slice(1)) && isFolderName(name) ? name : undefined;
}

/** Whether a folder of tools may have a unit of that name. */
export function isFolderName(name: string): boolean {
  return !name.startsWith(".") && unitNameSchema.safeParse(name).success;
}

/** The names of all units that the folder has now, in order. */
export function listNames(root: string, report: (problem: string) => void): readonly string[] {
  const entries = nowIfPresent(root, () => readdirSync(root, { withFileTypes: true })) ?? [];
  const names = entries.flatMap((entry) => (entry.isDirectory() ? folderName(root, entry.name) : (nameOfFile(entry.name) ?? [])));
  const sorted = [...new Set(names)].toSorted();
  if (sorted.length > NAMES_MAX)
    report(`${root} has over ${NAMES_MAX} tools: those after ${JSON.stringify(sorted[NAMES_MAX - 1])} are left out`);
  return sorted.slice(0, NAMES_MAX);
}

/** The names of links to folders of units. Belljar follows none of them. */
export function listLinks(root: string): readonly string[] {
  const entries = nowIfPresent(root, () => readdirSync(root, { withFileTypes: true })) ?? [];
  return entries.flatMap((entry) => (entry.isSymbolicLink() ? folderName(root, entry.name) : [])).toSorted();
}

/** A folder is a unit's if it has one of the files. */
function folderName(root: string, name: string): readonly string[] {
  return isFolderName(name) && UNIT_FILES.some((file) => hasFile(join(root, name), file)) ? [name] : [];
}

export function hasFile(folder: string, file: string): boolean {
  return nowIfPresent(folder, () => lstatSync(join(folder, file))) !== undefined;
}

/** The unit as the files say it now. Undefined if the folder has none of that name. */
export async function readUnit(root: string, name: string): Promise<FolderUnit | undefined> {
  if (!isFolderName(name)) return undefined;
  const { texts, problem } = await readTexts(root, name);
  if (problem) return { kind: "invalid", problem };
  if (texts.size === 0) return undefined;
  const edit = toEdit(texts);
  if (edit.kind !== "changed") return edit.kind === "removed" ? undefined : edit;
  const file = codeFileOf(edit.spec);
  return texts.has(file) ? edit : { ...edit, file: [...texts.keys()].find((one) => one !== MANIFEST) ?? file };
}

/** The file or the folder of the unit. Undefined if there is neither. */
export function placeOfUnit(root: string, name: string): string | undefined {
  if (folderName(root, name).length > 0) return join(root, name);
  const file = ENDS.map((end) => `${name}.${end}`).find((one) => nameOfFile(one) === name && hasFile(root, one));
  return file && join(root, file);
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
