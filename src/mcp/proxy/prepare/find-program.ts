import { posix } from "node:path";
import * as z from "zod";
import { BelljarError } from "../../../errors.ts";
import type { PackageLock } from "../../../packages/package-lock.ts";
import { packagesFolder } from "../../../packages/package-places.ts";
import type { Sandbox } from "../../../sandbox/sandbox.ts";
import type { PackageLaunch } from "./package-launch.ts";

/** What a package says of itself once it is installed. */
export interface FoundProgram {
  readonly program: string;
  /** Of its package. */
  readonly version: string;
}

export interface PackagesInside {
  readonly sandbox: Sandbox;
  readonly installer: PackageLock["installer"];
}

const MANIFEST_MAX_BYTES = 1_048_576;
const NAMES_SHOWN = 20;
const FIND_MS = 60_000;
const programName = z.string().regex(/^(?!\.\.?$)[\w@.+-]{1,200}$/);
const version = z.string().regex(/^[\w.!+-]{1,100}$/);
const said = z.object({ version, programs: z.array(z.string()).max(1_000) });
const manifest = z.object({ version, bin: z.union([z.string(), z.record(z.string(), z.string())]).default({}) });

/** Prints the version of a package and the programs that it has. The packages of the folder are looked at, and none is imported. */
const ASK_PYTHON = `
import importlib.metadata as metadata, json, sys
found = next(iter(metadata.distributions(name=sys.argv[2], path=[sys.argv[1]])), None)
points = [] if found is None else [one.name for one in found.entry_points if one.group in ("console_scripts", "gui_scripts")]
print(json.dumps({"version": "" if found is None else found.version, "programs": points}))
`;

/** The folder of the programs of packages. */
export function programsFolder({ sandbox, installer }: PackagesInside): string {
  return posix.join(packagesFolder(sandbox), installer === "npm" ? "node_modules/.bin" : "bin");
}

/** The program that a launch starts. Rejects with `SERVER_UNREACHABLE` if the packages have none of that name, or leave it open which. */
export async function findProgram(inside: PackagesInside, launch: PackageLaunch, signal: AbortSignal): Promise<FoundProgram> {
  const own = await (inside.installer === "npm" ? readManifest : askPython)(inside.sandbox, launch, signal);
  const program = launch.program ?? chooseProgram(launch, own.programs);
  if (programName.safeParse(program).success && (await isThere(inside, program, signal))) return { program, version: own.version };
  throw unfound(`has no program ${JSON.stringify(program.slice(0, 200))}`, launch, own.programs);
}

/** As `npx` does: the only one, or the one that is named as the package. */
function chooseProgram(launch: PackageLaunch, programs: readonly string[]): string {
  const usual = posix.basename(launch.packageName);
  const [only, ...others] = programs;
  if (only === undefined) throw unfound("has no program", launch, programs);
  if (others.length === 0) return only;
  if (programs.includes(usual)) return usual;
  throw unfound("has several programs and none of its own name", launch, programs);
}

async function readManifest(sandbox: Sandbox, { packageName }: PackageLaunch, signal: AbortSignal) {
  const path = posix.join(packagesFolder(sandbox), "node_modules", packageName, "package.json");
  const { data } = manifest.safeParse(toJson(await sandbox.guest.files.read(path, { signal, maxBytes: MANIFEST_MAX_BYTES })));
  if (!data) throw unreadable(packageName);
  const programs = typeof data.bin === "string" ? [posix.basename(packageName)] : Object.keys(data.bin);
  return { version: data.version, programs };
}

async function askPython(sandbox: Sandbox, { packageName }: PackageLaunch, signal: AbortSignal) {
  const argv = ["python3", "-I", "-c", ASK_PYTHON, packagesFolder(sandbox), packageName];
  const { stdout } = await sandbox.guest.run({ argv, signal, timeoutMs: FIND_MS });
  const { data } = said.safeParse(toJson(stdout));
  if (!data) throw unreadable(packageName);
  return data;
}

async function isThere({ sandbox, installer }: PackagesInside, program: string, signal: AbortSignal): Promise<boolean> {
  const path = posix.join(programsFolder({ sandbox, installer }), program);
  try {
    return (await sandbox.guest.files.stat(path, { signal })).type !== "directory";
  } catch (cause) {
    if (cause instanceof BelljarError && cause.code === "FILE_NOT_FOUND") return false;
    throw cause;
  }
}

function toJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8")) as unknown;
  } catch {
    return undefined;
  }
}

function unfound(what: string, { packageName, wish: { installer } }: PackageLaunch, programs: readonly string[]): BelljarError {
  const option = installer === "npm" ? `--package=${packageName} PROGRAM` : `--from ${packageName} PROGRAM`;
  const known = programs.slice(0, NAMES_SHOWN).map((name) => JSON.stringify(name.slice(0, 100)));
  const advice = known.length === 0 ? "it is no server" : `it has ${known.join(", ")}; write ${option}`;
  return new BelljarError("SERVER_UNREACHABLE", `The package ${packageName} ${what}: ${advice}`);
}

function unreadable(packageName: string): BelljarError {
  return new BelljarError("SERVER_UNREACHABLE", `The package ${packageName} does not say its version and its programs as packages do`);
}
