import { posix } from "node:path";
import { BelljarError } from "../../../errors.ts";
import { type Installer, type PackageWish, toWish } from "../../../packages/requirements.ts";
import type { StdioTarget } from "../../client/config/resolve-server.ts";
import { MOUNT_PATH } from "../hub-settings.ts";
import { entryProblem } from "./entry-problem.ts";
import { LAUNCHERS, type Launcher } from "./launchers.ts";
import { type LaunchOptions, readLaunchOptions } from "./read-launch-options.ts";

/** A program of a package, as `npx` or `uvx` would install and start it. */
export interface PackageLaunch {
  /** What is installed. */
  readonly wish: PackageWish;
  /** The package whose program it is. */
  readonly packageName: string;
  /** Absent: the package's own. */
  readonly program?: string;
  readonly args: readonly string[];
}

type Entry = Pick<StdioTarget, "name" | "command" | "args">;

/** Name and version of a package of npm; what is neither is refused later. */
const NPM = /^((?:@[^@/]+\/)?[^@/]+)(?:@.*)?$/s;
/** Name, extras, and the version as `uvx` has it or as pip does. */
const PYTHON = /^([A-Za-z0-9][\w.-]*)(\[[^\]]*\])?(?:@([^@]*)|(\s*[=<>~!].*))?$/s;

/** Undefined for a command that starts no program of a package. Throws `CONFIG_INVALID` for arguments that are not understood. */
export function readPackageLaunch(entry: Entry): PackageLaunch | undefined {
  const launcher = launcherOf(entry);
  return launcher && toLaunch(entry, launcher, readLaunchOptions(entry, launcher));
}

/** By its name, wherever the host has it. What an entry's own folder has of that name is the entry's matter. */
export function launcherOf({ command, args }: Pick<Entry, "command" | "args">): Launcher | undefined {
  if (command.startsWith(`${MOUNT_PATH}/`)) return undefined;
  const words = [posix.basename(command), ...args];
  return LAUNCHERS.find((launcher) => launcher.words.every((word, index) => words[index] === word));
}

function toLaunch(entry: Entry, { installer, words }: Launcher, { packages, beside, rest }: LaunchOptions): PackageLaunch {
  const [first, ...others] = packages;
  const [named, ...args] = rest;
  if (named === undefined)
    throw entryProblem(entry.name, "args", `${words.join(" ")} names no ${first === undefined ? "package" : "program"}`);
  const main = readPackage(entry, installer, first ?? named);
  const more = [...others, ...beside].map((text) => readPackage(entry, installer, text));
  const wish = wishOf(
    entry,
    installer,
    [main, ...more].map(({ requirement }) => requirement),
  );
  const program = first === undefined ? (installer === "pip" ? main.name : undefined) : named;
  return { wish, packageName: main.name, ...(program !== undefined && { program }), args };
}

/** Scripts of packages are not run at the install. */
function wishOf({ name }: Entry, installer: Installer, requirements: readonly string[]): PackageWish {
  try {
    return toWish(installer, requirements, false);
  } catch (cause) {
    throw cause instanceof BelljarError ? entryProblem(name, "args", cause.message) : cause;
  }
}

function readPackage(entry: Entry, installer: Installer, text: string): { readonly name: string; readonly requirement: string } {
  const [, name, ...more] = (installer === "npm" ? NPM : PYTHON).exec(text) ?? [];
  if (name === undefined)
    throw entryProblem(entry.name, "args", `${JSON.stringify(text.slice(0, 200))} is no package of the index: write its name`);
  if (installer === "npm") return { name, requirement: text };
  const [extras = "", version, range = ""] = more;
  const exact = version === undefined || version === "latest" ? "" : `==${version}`;
  return { name, requirement: `${name}${extras}${exact}${range}` };
}
