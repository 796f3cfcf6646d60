import { BelljarError } from "../errors.ts";
import type { Language } from "./language.ts";
import type { Program, ProgramFile } from "./program.ts";

const FILES_MAX = 256;
const BYTES_MAX = 16 * 1_048_576;
const NAME_MAX_BYTES = 255;
const PATH_MAX_BYTES = 1_024;

/** Returns the program's files, the entry first. Throws `ARGUMENTS_INVALID` for a name outside the program's folder, or a repeated name. */
export function collectFiles(language: Language, program: Program): readonly ProgramFile[] {
  const files = [{ name: program.entryFile ?? language.entryFile, content: program.code }, ...(program.files ?? [])];
  if (files.length > FILES_MAX) throw invalid(`A program may have ${FILES_MAX} files, not ${files.length}`);
  const names = new Set<string>();
  for (const { name } of files) {
    assertFileName(name);
    if (names.has(name)) throw invalid(`Two files are named ${quote(name)}; give each its own name`);
    names.add(name);
  }
  const bytes = files.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0);
  if (bytes > BYTES_MAX) throw invalid(`The files of a program may have ${BYTES_MAX} bytes in all, not ${bytes}`);
  return files;
}

/** Throws `ARGUMENTS_INVALID` unless the name is a relative path that stays below any folder it is joined to. */
export function assertFileName(name: string): void {
  const problem = findProblem(name);
  if (problem) throw invalid(`The file name ${quote(name)} ${problem}; use a path below the program's folder, such as "lib/util.py"`);
}

function findProblem(name: string): string | undefined {
  if (name.length === 0) return "is empty";
  if (name.includes("\0")) return "holds a NUL byte";
  if (name.startsWith("/")) return "is absolute";
  if (Buffer.byteLength(name) > PATH_MAX_BYTES) return `is longer than ${PATH_MAX_BYTES} bytes`;
  const components = name.split("/");
  if (components.includes("..")) return 'leads out with ".."';
  if (components.some((component) => component === "" || component === ".")) return "has an empty component";
  if (components.some((component) => Buffer.byteLength(component) > NAME_MAX_BYTES))
    return `has a component of over ${NAME_MAX_BYTES} bytes`;
  return undefined;
}

function quote(name: string): string {
  return JSON.stringify(name.length > 80 ? `${name.slice(0, 80)}...` : name);
}

function invalid(message: string): BelljarError {
  return new BelljarError("ARGUMENTS_INVALID", message);
}
