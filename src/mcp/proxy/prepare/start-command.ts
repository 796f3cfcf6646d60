import type { Sandbox } from "../../../sandbox/sandbox.ts";
import { packagesFolder } from "../../../packages/package-places.ts";
import { programsFolder } from "./find-program.ts";
import type { PackageLaunch } from "./package-launch.ts";
import type { InstalledProgram } from "./package-programs.ts";

/** Where commands inside are looked for that are given no PATH. */
const DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** What a server's sandbox runs. */
export interface ServerCommand {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string | undefined;
}

/** The command that starts an installed program in a sandbox with its packages, with the entry's own variables. */
export async function startCommand(
  sandbox: Sandbox,
  { program }: InstalledProgram,
  { wish: { installer }, args }: PackageLaunch,
  own: Readonly<Record<string, string>>,
): Promise<Pick<ServerCommand, "argv" | "env">> {
  const folder = programsFolder({ sandbox, installer });
  const below = { ...(await sandbox.environment()), ...own };
  // As npx and uvx have it: the program finds those beside it.
  const path = joined(folder, below["PATH"] ?? DEFAULT_PATH);
  const modules: Readonly<Record<string, string>> =
    installer === "pip" ? { PYTHONPATH: joined(packagesFolder(sandbox), below["PYTHONPATH"]) } : {};
  return { argv: [`${folder}/${program}`, ...args], env: { ...own, PATH: path, ...modules } };
}

function joined(first: string, others: string | undefined): string {
  return others === undefined || others === "" ? first : `${first}:${others}`;
}
