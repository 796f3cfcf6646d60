import { lstat, realpath, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { BelljarError } from "../../errors.ts";
import { errnoOf } from "../../files/file-error.ts";
import { readSettingsText } from "../../files/read-settings-text.ts";
import { makeFoldersNow } from "../../files/make-folders.ts";
import { replaceFile } from "../../files/replace-file.ts";

/** A host's file with its settings, as it was read. */
export interface SettingsFile {
  /** Undefined if there is no file yet. */
  readonly text: string | undefined;
  /** Replaces the file atomically, and keeps its mode. If it is a symbolic link, the link's target is replaced. */
  replace(text: string): Promise<void>;
}

/**
 * Rejects with `CONFIG_INVALID` for what is no text file, for a link that leads nowhere, and for a link that leads out of `project`: a project
 * that somebody else wrote must not choose which file of the person is written. `project` is absent for a file of the person's own.
 */
export async function readSettings(file: string, project: string | undefined): Promise<SettingsFile> {
  const target = await targetOf(file);
  if (project !== undefined && !target.startsWith(`${await realpath(project)}/`))
    throw invalid(`it leads out of the project, to ${target}: print what belongs there with --print`);
  return { text: await readSettingsText(target), replace: (text) => replace(target, text) };
}

/** The real path, also of what does not exist yet. */
async function targetOf(file: string): Promise<string> {
  try {
    return await realpath(file);
  } catch (cause) {
    if (errnoOf(cause) !== "ENOENT") throw invalid("check that this user may use it", cause);
    const isLink = await lstat(file).then(
      (found) => found.isSymbolicLink(),
      () => false,
    );
    if (isLink) throw invalid("it is a link that leads nowhere: remove it, or make what it leads to", cause);
    return join(await targetOf(dirname(file)), basename(file));
  }
}

async function replace(target: string, text: string): Promise<void> {
  try {
    makeFoldersNow(dirname(target), 0o777);
    const mode = await stat(target).then(
      (found) => found.mode & 0o777,
      () => 0o644,
    );
    await replaceFile(target, text, { mode });
  } catch (cause) {
    throw invalid("it cannot be written: print what belongs there with --print", cause);
  }
}

function invalid(problem: string, cause?: unknown): BelljarError {
  return new BelljarError("CONFIG_INVALID", problem, { cause });
}
