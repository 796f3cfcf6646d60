import { posix } from "node:path";
import type { Sandbox } from "../sandbox/sandbox.ts";

/** The folder inside that packages are installed into. */
export function packagesFolder({ inside: { home } }: Sandbox): string {
  return posix.join(home, ".belljar-packages");
}

/** What only an install needs. It is gone before anybody starts from the packages. */
export function workFolder({ inside: { home } }: Sandbox): string {
  return posix.join(home, ".belljar-install");
}
