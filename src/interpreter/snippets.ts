import { constants } from "node:fs";
import { open, readdir, realpath } from "node:fs/promises";
import { parse, resolve, sep } from "node:path";
import { BelljarError } from "../errors.ts";
import { languageOfFile } from "./language.ts";

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
 * Rejects with `SNIPPET_NOT_FOUND`, which lists the existing names. It never reads outside the folder.
 */
export async function loadSnippet(directory: string, name: string): Promise<Snippet> {
  if (!NAME.test(name)) {
    throw new BelljarError("ARGUMENTS_INVALID", "A snippet's name is the base name of its file without the extension, such as hello_world");
  }
  const files = await listSnippetFiles(directory);
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
  return { language: languageOfFile(fileName)?.name ?? "", fileName, code };
}

async function listSnippetFiles(directory: string): Promise<readonly string[]> {
  try {
    return (await readdir(directory)).filter((file) => languageOfFile(file) !== undefined).toSorted();
  } catch (cause) {
    throw new BelljarError("SNIPPET_NOT_FOUND", `The snippets' folder cannot be read; check the --snippets option`, { cause });
  }
}

async function readInside(directory: string, fileName: string): Promise<string> {
  const [root, path] = await Promise.all([realpath(directory), realpath(resolve(directory, fileName))]);
  if (!path.startsWith(root.endsWith(sep) ? root : root + sep)) {
    throw new BelljarError("FORBIDDEN", `The snippet file "${fileName}" is a link that leads out of the snippets' folder`);
  }
  await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
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
