import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";

const FOLDER = resolve(import.meta.dirname, "../vendors");
const STAMP = join(FOLDER, "node_modules/.installed-lock");

/** Installs the vendors' packages once for each lock file. Answers why they cannot be had. */
export async function installVendors(): Promise<string | undefined> {
  const lock = await readFile(join(FOLDER, "package-lock.json"), "utf8");
  if ((await readFile(STAMP, "utf8").catch(() => undefined)) === lock) return undefined;
  try {
    const args = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1"];
    await promisify(execFile)("npm", args, { cwd: FOLDER, timeout: 240_000 });
  } catch (error) {
    return `the vendors' packages cannot be installed: ${String(error).split("\n", 1)[0]}`;
  }
  await writeFile(STAMP, lock);
  return undefined;
}

/** A module of the vendors' packages, by its path below node_modules. */
export async function importVendor(path: string): Promise<Readonly<Record<string, unknown>>> {
  return (await import(pathToFileURL(join(FOLDER, "node_modules", path)).href)) as Readonly<Record<string, unknown>>;
}
