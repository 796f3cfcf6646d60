import { Readable } from "node:stream";
import type { Build } from "../language.ts";
import { READ_BY_PYTHON } from "../lasting/read-at-start.ts";
import { findLanguage } from "../language.ts";

const PYTHON = findLanguage("python");
/** A module of the program's own could have the name of one that is imported already. */
const MODULE = /\.(?:py|pyc|so|pth)$/;

/** Whether a Python that has started already runs the program as a new one would: one file of the usual name, where it is expected. */
export function fitsWarm({ language, program, files, folder, cwd }: Build): boolean {
  const [entry, ...others] = files;
  if (language !== PYTHON || entry?.name !== PYTHON.entryFile || folder !== undefined || cwd !== undefined) return false;
  if ((program.args?.length ?? 0) > 0 || program.stdin instanceof Readable) return false;
  return !others.some(({ name }) => MODULE.test(name)) && !Object.keys(program.env ?? {}).some((name) => READ_BY_PYTHON.test(name));
}
