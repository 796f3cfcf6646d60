import { randomBytes } from "node:crypto";
import { mkdir, readFile, rmdir, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import * as z from "zod";
import { errnoOf, fileError, ifPresent } from "../../files/file-error.ts";
import { parseJson } from "../../files/parse-json.ts";
import { createFile, flushPath } from "../../files/replace-file.ts";
import type { UnitVersion } from "../unit.ts";
import { unitVersionSchema } from "./stored-unit.ts";

/** The names of the files of versions; a head names them. */
export const VERSION_FILE = /^version-[1-9][0-9]{0,14}\.[0-9a-f]{16}\.json$/;

/** `<key>/version-<number>.<random>.json`: each version of a unit, a file that never changes. */
export class VersionFiles {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Creates a file that no head names yet. It is on disk when this resolves with its name. */
  async create(key: string, version: UnitVersion): Promise<string> {
    const file = `version-${version.number}.${randomBytes(8).toString("hex")}.json`;
    const path = join(this.#folder, key, file);
    const text = JSON.stringify(z.encode(unitVersionSchema, version));
    const create = (): Promise<boolean> => createFile(path, text, { flush: true });
    try {
      await create().catch((cause: unknown) => createBeside(dirname(path), cause, create));
    } catch (cause) {
      throw fileError(path, cause);
    }
    return file;
  }

  /** Undefined if the file is not there; null if it is damaged. */
  async read(key: string, file: string): Promise<UnitVersion | null | undefined> {
    const path = this.path(key, file);
    const text = await ifPresent(path, readFile(path, "utf8"));
    return text === undefined ? undefined : (unitVersionSchema.safeParse(parseJson(text)).data ?? null);
  }

  async remove(key: string, files: Iterable<string>): Promise<void> {
    for (const file of files) await ifPresent(this.path(key, file), unlink(this.path(key, file)));
  }

  path(key: string, file: string): string {
    return join(this.#folder, key, file);
  }
}

/** The first file in a folder. */
async function createBeside(folder: string, cause: unknown, create: () => Promise<boolean>): Promise<boolean> {
  if (errnoOf(cause) !== "ENOENT") throw cause;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await flushPath(dirname(folder));
  return create();
}

/** Whoever puts a file into the folder meanwhile keeps it. */
export async function removeIfEmpty(folder: string): Promise<void> {
  try {
    await ifPresent(folder, rmdir(folder));
  } catch (cause) {
    if (!(cause instanceof Error) || !["ENOTEMPTY", "EEXIST"].includes(errnoOf(cause.cause) ?? "")) throw cause;
  }
}
