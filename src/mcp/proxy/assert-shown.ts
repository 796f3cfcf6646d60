import { dirname, posix } from "node:path";
import { BelljarError } from "../../errors.ts";
import type { HubServer } from "./hub-server.ts";
import { MOUNT_PATH } from "./hub-settings.ts";
import { launcherOf } from "./prepare/package-launch.ts";

/** What this machine has at a path. */
export type LookOnHost = (path: string) => "folder" | "file" | undefined;

/** What every sandbox of `base` has under the same path, with this machine's content. */
const SHOWN = ["/usr", "/bin", "/sbin", "/lib", "/lib64"];
/** What every sandbox has of its own. */
const OWN = ["/", "/dev", "/dev/null", "/etc", "/home", "/proc", "/tmp", MOUNT_PATH];

/**
 * Throws `CONFIG_INVALID` for a path of the host among the arguments that the sandbox will not show, with what to write. What a template has is
 * not known here, so a server with one is not looked at.
 */
export function assertShown({ name, target, settings }: HubServer, lookOnHost: LookOnHost): void {
  if (target.kind !== "stdio" || settings.isolation === "none" || settings.template !== undefined || settings.image) return;
  // What npx is on this machine does not matter: the package is installed by the sandbox's own.
  const command = launcherOf(target) ? [] : [target.command];
  const paths = [...command, target.cwd ?? "", ...target.args].flatMap(pathsIn);
  const hidden = paths.find((path) => !isInSandbox(path) && lookOnHost(path) !== undefined);
  if (hidden === undefined) return;
  const problem = `The server "${name}" names ${hidden} of this machine, which its sandbox does not have`;
  throw new BelljarError("CONFIG_INVALID", `${problem}: ${adviceFor(hidden, settings.mount?.host, lookOnHost)}`);
}

function adviceFor(path: string, mounted: string | undefined, lookOnHost: LookOnHost): string {
  if (mounted !== undefined) {
    if (`${path}/`.startsWith(`${mounted}/`)) return `write ${posix.join(MOUNT_PATH, path.slice(mounted.length))} in its place`;
    return `its one folder is ${mounted}; put what it needs below that`;
  }
  const folder = lookOnHost(path) === "folder" ? path : dirname(path);
  const line = JSON.stringify([{ host: folder, path: MOUNT_PATH, mode: "ro" }]);
  return `write "mounts": ${line} and ${posix.join(MOUNT_PATH, path.slice(folder.length))} in its place`;
}

/** Of an argument, as it is or behind a `=`. */
function pathsIn(argument: string): readonly string[] {
  const given = argument.startsWith("-") ? argument.slice(argument.indexOf("=") + 1) : argument;
  return given.startsWith("/") ? [given] : [];
}

function isInSandbox(path: string): boolean {
  const plain = path.replace(/\/$/, "") || "/";
  return OWN.includes(plain) || plain.startsWith(`${MOUNT_PATH}/`) || SHOWN.some((folder) => `${plain}/`.startsWith(`${folder}/`));
}
