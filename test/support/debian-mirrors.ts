import { existsSync } from "node:fs";
import { connect } from "node:net";

const HOSTS = ["deb.debian.org", "security.debian.org"];
/** Each by its exact rule: a mirror may lie in the network of this machine. */
export const MIRRORS: readonly string[] = HOSTS.map((host) => `${host}:80`);

/** Why no Debian suite can be put together here, if so. */
export async function findDebianMirrors(): Promise<{ readonly reason?: string }> {
  if (!existsSync("/usr/bin/mmdebstrap")) return { reason: "the package mmdebstrap is not installed: npm run setup" };
  const reached = await Promise.all(HOSTS.map(reaches));
  return reached.every(Boolean) ? {} : { reason: "Debian's mirrors cannot be reached" };
}

async function reaches(host: string): Promise<boolean> {
  const socket = connect({ host, port: 80, timeout: 5_000 });
  const reached = new Promise<boolean>((resolve) => {
    socket.once("connect", () => resolve(true));
    for (const event of ["timeout", "error"]) socket.once(event, () => resolve(false));
  });
  return reached.finally(() => socket.destroy());
}
