import { execFile } from "node:child_process";
import { accessSync, constants, mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

const PACKAGES = ["matplotlib", "pandas", "pillow", "ipython"];
const ROOT = resolve(import.meta.dirname, "../../node_modules");
/** A finished install leaves this file. Those who need it at the same time wait for one another. */
const ONCE = `test -e "$0/done" || { python3 -m venv --clear "$0" && "$0/bin/pip" install -q --disable-pip-version-check --retries 0 "$@" && touch "$0/done"; }`;

/** A virtual environment with popular packages, made once for each user. Throws pip's reason if they cannot be had. */
export async function installPythonPackages(): Promise<string> {
  const folder = join(cacheFolder(), `kernel-python-${process.getuid?.()}`);
  mkdirSync(folder, { recursive: true });
  const argv = ["--kill-after=5", "280", "flock", `${folder}.lock`, "sh", "-c", ONCE, folder, ...PACKAGES];
  await promisify(execFile)("timeout", argv);
  return join(folder, "bin/python");
}

function cacheFolder(): string {
  try {
    accessSync(ROOT, constants.W_OK);
    return join(ROOT, ".cache");
  } catch {
    return join(tmpdir(), "belljar-test-cache");
  }
}
