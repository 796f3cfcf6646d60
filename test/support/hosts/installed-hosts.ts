import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { installPackages } from "../installed-packages.ts";
import type { Host } from "./host.ts";

const FOLDER = resolve(import.meta.dirname, "../../hosts");
/** They are of 400 MB. */
const LIMIT_SECONDS = 480;

/** Installs the hosts once for each lock file. Answers why a host cannot be had. */
export async function installHosts(): Promise<(host: Host) => string | undefined> {
  const problem = await installPackages(FOLDER, LIMIT_SECONDS);
  return (host) =>
    problem ?? (existsSync(programOf(host)) ? undefined : `there is no ${host.title} for ${process.platform} ${process.arch}`);
}

export function programOf({ program }: Host): string {
  return join(FOLDER, "node_modules", program);
}
