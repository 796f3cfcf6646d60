import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { installPackages } from "./installed-packages.ts";

const FOLDER = resolve(import.meta.dirname, "../vendors");

/** Installs the vendors' packages once for each lock file. Answers why they cannot be had. */
export function installVendors(): Promise<string | undefined> {
  return installPackages(FOLDER);
}

/** A module of the vendors' packages, by its path below node_modules. */
export async function importVendor(path: string): Promise<Readonly<Record<string, unknown>>> {
  return (await import(pathToFileURL(join(FOLDER, "node_modules", path)).href)) as Readonly<Record<string, unknown>>;
}
