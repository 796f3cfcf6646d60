import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { installPackages } from "./installed-packages.ts";

const FOLDER = resolve(import.meta.dirname, "../e2b-clients");

/** Installs other releases of E2B's clients, once for each lock file. Answers why they cannot be had. */
export function installE2bClients(): Promise<string | undefined> {
  return installPackages(FOLDER);
}

/** Of such a client's packages, by the path below node_modules. */
export function e2bClientPath(path: string): string {
  return resolve(FOLDER, "node_modules", path);
}

export async function importE2bClient(path: string): Promise<Readonly<Record<string, unknown>>> {
  return (await import(pathToFileURL(e2bClientPath(path)).href)) as Readonly<Record<string, unknown>>;
}
