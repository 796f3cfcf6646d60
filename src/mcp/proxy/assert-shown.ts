import { BelljarError } from "../../errors.ts";
import type { HubServer } from "./hub-server.ts";
import { MOUNT_PATH } from "./hub-settings.ts";

/** Throws `CONFIG_INVALID` for a path of the host that the sandbox will not show, with what to write. */
export function assertShown({ name, target, settings }: HubServer, isOnHost: (path: string) => boolean): void {
  if (target.kind !== "stdio" || settings.isolation === "none") return;
  const paths = [...(target.cwd === undefined ? [] : [target.cwd]), ...target.args].filter((arg) => arg.startsWith("/"));
  const hidden = paths.find((path) => !isInSandbox(path) && isOnHost(path));
  if (hidden === undefined) return;
  const line = JSON.stringify([{ host: hidden, path: MOUNT_PATH, mode: "ro" }]);
  throw new BelljarError(
    "CONFIG_INVALID",
    `The server "${name}" names ${hidden} of this machine, which its sandbox does not have: write "mounts": ${line} and ${MOUNT_PATH} in its place`,
  );
}

/** What every sandbox has under the same path. */
function isInSandbox(path: string): boolean {
  return ["/usr/", "/bin/", "/lib/", "/dev/", "/proc/", "/tmp/", `${MOUNT_PATH}/`].some((prefix) => `${path}/`.startsWith(prefix));
}
