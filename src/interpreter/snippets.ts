import { constants } from "node:fs";
import { open, readdir, readlink, realpath } from "node:fs/promises";
import { parse, resolve, sep } from "node:path";
import { BelljarError } from "../errors.ts";
import { type Language, languageOfFile } from "./language.ts";

export interface Snippet {
  readonly language: string;
  readonly fileName: string;
  readonly code: string;
}

const NAME = /^[A-Za-z0-9_][A-Za-z0-9_. -]{0,99}$/;
const MAX_BYTES = 1_048_576;
const LISTED_MAX = 50;

/**
 * Loads the program of that name from the folder. The file's extension determines its language.
 * Rejects with `SNIPPET_NOT_FOUND`, which lists the existing names. `directory` is a real path. Nothing outside of it is read, and nothing
 * at all once a link stands in its place: whoever may write the folder above, as a sandbox with it as `rw` workspace, could have put it there.
 */
export async function loadSnippet(directory: string, name: string, languages?: readonly Language[]): Promise<Snippet> {
  if (!NAME.test(name)) {
    throw new BelljarError("ARGUMENTS_INVALID", "A snippet's name is the base name of its file without the extension, such as hello_world");
  }
  await assertStillReal(directory);
  const files = await listSnippetFiles(directory, languages);
  const matching = files.filter((file) => parse(file).name === name);
  const [fileName, other] = matching;
  if (fileName === undefined) throw notFound(name, files);
  if (other !== undefined) {
    throw new BelljarError(
      "ARGUMENTS_INVALID",
      `The snippet "${name}" stands for several files (${matching.join(", ")}); rename all but one`,
    );
  }
  const code = await readInside(directory, fileName).catch((cause: unknown) => {
    if (cause instanceof BelljarError) throw cause;
    throw new BelljarError("SNIPPET_NOT_FOUND", `The snippet "${fileName}" cannot be read; check the file`, { cause });
  });
  return { language: languageOfFile(fileName, languages)?.name ?? "", fileName, code };
}

async function assertStillReal(directory: string): Promise<void> {
  const now = await realpath(directory).catch(() => directory);
  if (now !== directory) throw hasMoved();
}

function hasMoved(): BelljarError {
  return new BelljarError(
    "FORBIDDEN",
    "The snippets' folder has been replaced by a link since Belljar started: check it, and start Belljar again",
  );
}

async function listSnippetFiles(directory: string, languages: readonly Language[] | undefined): Promise<readonly string[]> {
  try {
    return (await readdir(directory)).filter((file) => languageOfFile(file, languages) !== undefined).toSorted();
  } catch (cause) {
    throw new BelljarError("SNIPPET_NOT_FOUND", `The snippets' folder cannot be read; check the --snippets option`, { cause });
  }
}

async function readInside(directory: string, fileName: string): Promise<string> {
  const path = await realpath(resolve(directory, fileName));
  if (!path.startsWith(directory.endsWith(sep) ? directory : directory + sep)) {
    throw new BelljarError("FORBIDDEN", `The snippet file "${fileName}" is a link that leads out of the snippets' folder`);
  }
  await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  // Where a sandbox may swap folders on the way there, Linux says what was opened.
  if (process.platform === "linux" && (await readlink(`/proc/self/fd/${file.fd}`)) !== path) throw hasMoved();
  const info = await file.stat();
  if (!info.isFile()) throw new BelljarError("SNIPPET_NOT_FOUND", `The snippet "${fileName}" is not a file`);
  if (info.size > MAX_BYTES) throw new BelljarError("FILE_TOO_LARGE", `The snippet "${fileName}" has over ${MAX_BYTES} bytes`);
  return file.readFile("utf8");
}

function notFound(name: string, files: readonly string[]): BelljarError {
  const names = files.slice(0, LISTED_MAX).map((file) => parse(file).name);
  const known = names.length > 0 ? `there are: ${names.join(", ")}` : "the snippets' folder holds none";
  return new BelljarError("SNIPPET_NOT_FOUND", `No snippet "${name}"; ${known}`);
}
