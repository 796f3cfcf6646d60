import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { join } from "node:path";
import { nodeBinds } from "./base-template.ts";
import { DATABASES, USR_FOLDERS } from "./fingerprint.ts";

/** The databases of package managers, which may be links, and what names the release of a host whose `/usr` is replaced as a whole. */
const RECORDS = [...DATABASES, "lib/apk/db/installed", "etc/os-release"];

export interface HostMarkOptions {
  /** Default: `/`. */
  readonly hostRoot?: string;
  /** As for the template. */
  readonly nodePath?: string;
}

/**
 * Marks the host's own folders that sandboxes of the base template show: another mark means other files. Every checkpoint asks for it, so
 * it looks at some twenty folders and files, and walks none. It sees packages come, go and change, and entries come and go in the upper
 * folders of `/usr`. It does not see a file that was changed in place, or deeper down by hand.
 */
export function markHost({ hostRoot = "/", nodePath = process.execPath }: HostMarkOptions = {}): string {
  const places = ["usr", ...USR_FOLDERS, ...RECORDS].map((name) => join(hostRoot, name));
  const hash = createHash("sha256");
  for (const path of [...places, ...nodeBinds(nodePath).map(({ from }) => from)]) {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false });
    hash.update(found ? `${found.ino} ${found.ctimeNs}\n` : "-\n");
  }
  return hash.digest("hex").slice(0, 20);
}
