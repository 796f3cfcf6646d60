import { lstat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { BelljarError } from "../../errors.ts";
import { fileError, ifPresent } from "../../files/file-error.ts";
import { makeFoldersNow } from "../../files/make-folders.ts";
import { replaceFile } from "../../files/replace-file.ts";
import { MANIFEST, toTexts } from "../store/manifest.ts";
import { UNIT_FILES } from "../store/read-unit-folder.ts";
import { hasFile, isFolderName } from "../store/units-in-folder.ts";
import type { UnitSpec } from "../unit.ts";

/** In bytes: what file systems take for a name. */
const FOLDER_NAME_MAX = 255;

/**
 * Writes the unit into its own folder below, as the store of files has it: the code and `tool.json`. Files of the same unit that are there
 * are replaced, and no link is followed. Resolves with the folder. Rejects with `ARGUMENTS_INVALID` for a name that no folder can have,
 * with `FILE_EXISTS` for a folder that has code of somebody else, and with `FILE_IO` and `DISK_FULL`.
 */
export async function exportUnit(folder: string, name: string, spec: UnitSpec): Promise<string> {
  if (!isFolderName(name) || Buffer.byteLength(name) > FOLDER_NAME_MAX)
    throw new BelljarError("ARGUMENTS_INVALID", `${JSON.stringify(name)} is no name of a folder: add the tool under another name`);
  const own = join(folder, name);
  try {
    makeFoldersNow(own, 0o777);
    if (!(await lstat(own)).isDirectory()) throw new BelljarError("FILE_IO", `${own} is a link: remove it, or choose another folder`);
    assertOurs(own);
    await writeTexts(own, toTexts(spec));
    return own;
  } catch (cause) {
    throw fileError(own, cause);
  }
}

/** Code without `tool.json` beside it was not exported. */
function assertOurs(own: string): void {
  const code = hasFile(own, MANIFEST) ? undefined : UNIT_FILES.find((file) => hasFile(own, file));
  if (code === undefined) return;
  throw new BelljarError("FILE_EXISTS", `${join(own, code)} is not from an export, which would replace it: choose another folder`);
}

/** The code of another language is no code of it any more. */
async function writeTexts(own: string, texts: ReadonlyMap<string, string>): Promise<void> {
  for (const [file, text] of texts) await replaceFile(join(own, file), text, { mode: 0o644 });
  for (const file of UNIT_FILES) if (!texts.has(file)) await ifPresent(join(own, file), unlink(join(own, file)));
}
