import { createHash } from "node:crypto";
import { constants, lstatSync } from "node:fs";
import { open, readlink, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { errnoOf, nowIfPresent } from "../../files/file-error.ts";
import { LANGUAGE_OF_END, MANIFEST } from "./manifest.ts";
import { CODE_BYTES_MAX } from "./stored-unit.ts";
import type { EditProblem } from "./unit-store.ts";

const MANIFEST_BYTES_MAX = 2 ** 18;
/** A file that is replaced while it is opened is opened again. */
const MAX_ROUNDS = 10;

/** The files of a unit's folder. A folder may have any others, which are not looked at. */
export const UNIT_FILES: readonly string[] = [...[...LANGUAGE_OF_END.keys()].map((end) => `tool.${end}`), MANIFEST];

/** A file as a person may have left it. */
export interface FoundFile {
  readonly name: string;
  readonly text: string;
  readonly digest: string;
}

export interface FoundFiles {
  readonly files: readonly FoundFile[];
  /** Why one of the files cannot be read. */
  readonly problem?: EditProblem;
}

/** What tells one content of a file of this name from another. */
export function digestOf(name: string, content: string | Uint8Array): string {
  return createHash("sha256").update(`${name}\0`).update(content).digest("base64url");
}

/** Reads those of the files that are there. A folder that is a link, or is none, holds no files. */
export async function readUnitFolder(folder: string, names = UNIT_FILES): Promise<FoundFiles> {
  if (nowIfPresent(folder, () => lstatSync(folder))?.isDirectory() !== true) return { files: [] };
  const files: FoundFile[] = [];
  for (const name of names) {
    const found = await readUnitFile(join(folder, name), name);
    if (typeof found === "string") return { files, problem: { file: name, message: found } };
    if (found !== undefined) files.push(found);
  }
  return { files };
}

/** Reads the file at the path as the unit's file of that name. Undefined if it is not there; a text says why it cannot be read. */
export async function readUnitFile(path: string, name: string): Promise<FoundFile | string | undefined> {
  try {
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      // O_NONBLOCK: opening a FIFO must not wait for its writer.
      await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
      if (await isAt(file, path)) return await readOpened(file, name);
    }
    return "is behind a link, or changes all the time";
  } catch (cause) {
    const code = errnoOf(cause);
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    return code === "ELOOP" ? "is a link: put the file itself there" : `cannot be read (${code ?? "unknown error"})`;
  }
}

/** Where a sandbox may swap folders on the way there, Linux says what was opened. Nor is a file at the path that was replaced since. */
async function isAt(file: FileHandle, path: string): Promise<boolean> {
  return process.platform !== "linux" || (await readlink(`/proc/self/fd/${file.fd}`)) === path;
}

async function readOpened(file: FileHandle, name: string): Promise<FoundFile | string> {
  if (!(await file.stat()).isFile()) return "is not a file";
  const bytesMax = name === MANIFEST ? MANIFEST_BYTES_MAX : CODE_BYTES_MAX;
  const bytes = await readAtMost(file, bytesMax + 1);
  if (bytes.length > bytesMax) return `has over ${bytesMax} bytes`;
  const text = toText(bytes);
  return text === undefined ? "is not text in UTF-8" : { name, text, digest: digestOf(name, bytes) };
}

async function readAtMost(file: FileHandle, bytesMax: number): Promise<Uint8Array> {
  const { size } = await file.stat();
  const bytes = Buffer.alloc(Math.min(size + 1, bytesMax));
  let length = 0;
  for (;;) {
    const { bytesRead } = await file.read(bytes, length, bytes.length - length, length);
    length += bytesRead;
    if (bytesRead === 0 || length === bytes.length) return bytes.subarray(0, length);
  }
}

function toText(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
