import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A program that plays a part of the native binary, in a folder of its own. Disposing it removes both. */
export interface ShellProgram extends Disposable {
  readonly path: string;
  /** The path of a file that the program reads or writes. */
  file(name: string): string;
  read(name: string): string;
}

/** `script` is told its folder as `$here`. */
export function makeShellProgram(script: string): ShellProgram {
  const folder = mkdtempSync(join(tmpdir(), "bj-program-"));
  const path = join(folder, "program");
  writeFileSync(path, `#!/bin/sh\nhere='${folder}'\n${script}\n`);
  chmodSync(path, 0o755);
  const file = (name: string): string => join(folder, name);
  return { path, file, read: (name) => readFileSync(file(name), "utf8"), [Symbol.dispose]: () => rmSync(folder, { recursive: true }) };
}
