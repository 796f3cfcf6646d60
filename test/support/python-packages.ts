import { execFile } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

const PACKAGES = ["matplotlib", "pandas", "pillow", "ipython"];
const FOLDER = resolve(import.meta.dirname, "../../node_modules/.cache/kernel-packages");
const PYTHON = join(FOLDER, "bin/python");
const DONE = join(FOLDER, "done");
/** The system's Python, which each user of this checkout may start. */
const ONCE = `test -e "$0/done" || { /usr/bin/python3 -m venv --clear "$0" && "$0/bin/pip" install -q --disable-pip-version-check --retries 0 "$@" && touch "$0/done"; }`;

/** The Python of a virtual environment with popular packages, made once for all users; or why this machine cannot have it. */
export async function findPythonPackages(): Promise<{ readonly python: string } | { readonly reason: string }> {
  if (existsSync(DONE)) return { python: PYTHON };
  try {
    mkdirSync(FOLDER, { recursive: true });
    const argv = ["--kill-after=5", "280", "flock", `${FOLDER}.lock`, "sh", "-c", ONCE, FOLDER, ...PACKAGES];
    await promisify(execFile)("timeout", argv);
    return { python: PYTHON };
  } catch (cause) {
    const said = cause instanceof Error && "stderr" in cause ? String(cause.stderr) : String(cause);
    return { reason: said.trim().split("\n").at(-1)?.slice(0, 200) ?? "pip failed" };
  }
}
