import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { BelljarError } from "../../errors.ts";
import type { Workspace } from "../runtime.ts";
import { INSIDE } from "../../protocol/inside.ts";

const HOMES: Record<string, string> = {
  [INSIDE.user]: INSIDE.userHome,
  [INSIDE.root]: INSIDE.rootHome,
  [INSIDE.userId]: INSIDE.userHome,
  [INSIDE.rootId]: INSIDE.rootHome,
};
const PATH_MAX_BYTES = 4_095;
const SLASH = "/";

/** A folder on the host that stands for a sandbox's file system. It keeps paths apart; it keeps nobody in. */
export class SandboxPaths {
  readonly root: string;

  constructor(folder: string) {
    this.root = join(folder, "root");
  }

  make(workspace: Workspace | undefined): void {
    for (const path of ["home", "root", "tmp", "run/belljar", "etc", "var/tmp"]) mkdirSync(join(this.root, path), { recursive: true });
    const home = join(this.root, "home/user");
    if (workspace?.mode === "rw") symlinkSync(workspace.path, home);
    else mkdirSync(home);
    // As a layer shows it: with the times, which Node's own copy rounds.
    if (workspace && workspace.mode !== "rw") execFileSync("cp", ["-a", `${workspace.path}/.`, home]);
    symlinkSync("home/user", join(this.root, "workspace"));
  }

  /** Throws `USER_UNKNOWN`. */
  home(user = "user"): string {
    const home = HOMES[user];
    if (!home) throw new BelljarError("USER_UNKNOWN", `No user "${user}" here`);
    return home;
  }

  /** Where a path of the sandbox lies on the host. `..` never leads above the root. */
  toHost(path: Buffer, user?: string): Buffer {
    if (path.length === 0 || path.length > PATH_MAX_BYTES) throw new BelljarError("PATH_INVALID", `A path of ${path.length} bytes`);
    const text = path.toString("latin1");
    const parts: string[] = [];
    for (const part of (text.startsWith(SLASH) ? text : `${this.home(user)}/${text}`).split(SLASH)) {
      if (part === "..") parts.pop();
      else if (part !== "" && part !== ".") parts.push(part);
    }
    return Buffer.concat([Buffer.from(this.root), Buffer.from(SLASH + parts.join(SLASH), "latin1")]);
  }

  /** The other way; a path outside the root is itself. */
  toGuest(path: Buffer): Buffer {
    const root = Buffer.from(this.root);
    if (!path.subarray(0, root.length).equals(root)) return path;
    return path.length === root.length ? Buffer.from(SLASH) : path.subarray(root.length);
  }
}
