import { randomBytes } from "node:crypto";
import { link, rename, unlink } from "node:fs/promises";
import { join } from "node:path";
import { fileError, ifPresent } from "../../files/file-error.ts";
import { namesNow } from "../../files/read-now.ts";
import { createFile, replaceFile } from "../../files/replace-file.ts";
import { readUnitFile } from "./read-unit-folder.ts";

const HELD = /^(.+)\.[0-9a-f]{16}\.(tool\.[a-z]{2,4})$/;

/** Tells Belljar's own files from a person's. */
export type IsOurs = (digest: string) => boolean;

/** The folder of a unit, and the place where a file of it is kept while it is replaced. */
export interface UnitPlace {
  readonly key: string;
  readonly folder: string;
  /** A folder of the same file system, which all units may share. */
  readonly aside: string;
}

/**
 * Replaces a file of Belljar's. A file that a person has changed stays, even if the change comes at the same moment: the old file is held
 * until it is known to be Belljar's, and else put back. `content` undefined: the file is removed.
 */
export async function replaceOurs(place: UnitPlace, name: string, content: string | undefined, isOurs: IsOurs): Promise<void> {
  const path = join(place.folder, name);
  const held = join(place.aside, `${place.key}.${randomBytes(8).toString("hex")}.${name}`);
  try {
    const isThere =
      (await ifPresent(
        path,
        link(path, held).then(() => true),
      )) ?? false;
    if (content === undefined) await ifPresent(path, unlink(path));
    else if (isThere) await replaceFile(path, content, { flush: true });
    else await createFile(path, content, { flush: true });
    if (isThere) await settle(path, { held, name }, isOurs);
  } catch (cause) {
    throw fileError(path, cause);
  }
}

/** Ends what a killed process began. A process that still lives loses nothing by it. */
export async function settleHeld({ key, folder, aside }: UnitPlace, isOurs: IsOurs): Promise<void> {
  for (const file of namesNow(aside)) {
    const [, owner, name] = HELD.exec(file) ?? [];
    if (owner === key && name !== undefined) await settle(join(folder, name), { held: join(aside, file), name }, isOurs);
  }
}

async function settle(path: string, { held, name }: { readonly held: string; readonly name: string }, isOurs: IsOurs): Promise<unknown> {
  const before = await readUnitFile(held, name);
  if (before === undefined) return undefined;
  const isOurFile = (file: typeof before | undefined): boolean => typeof file === "object" && isOurs(file.digest);
  if (!isOurFile(before)) {
    const now = await readUnitFile(path, name);
    if (now === undefined || isOurFile(now)) return ifPresent(held, rename(held, path));
  }
  return ifPresent(held, unlink(held));
}
