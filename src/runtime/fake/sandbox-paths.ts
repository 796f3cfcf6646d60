import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { BelljarError } from "../../errors.ts";
import type { SandboxSpec } from "../contract/sandbox-spec.ts";
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

  /** Whoever runs what names nobody. */
  readonly user: string;

  readonly #inside: SandboxSpec["inside"];

  constructor({ folder, inside, user = INSIDE.user }: Pick<SandboxSpec, "folder" | "inside" | "user">) {
    this.root = join(folder, "root");
    this.user = user;
    this.#inside = inside;
  }

  make(workspace: SandboxSpec["workspace"]): void {
    for (const path of ["home/user", "root", "tmp", "run/belljar", "etc", "var/tmp"]) mkdirSync(join(this.root, path), { recursive: true });
    const { workspace: shown, cwd } = this.#inside;
    const place = this.#at(shown);
    for (const at of new Set([INSIDE.workspace, cwd])) if (at !== shown) this.#link(at, place);
    if (!workspace) return;
    mkdirSync(dirname(place), { recursive: true });
    if (workspace.mode === "rw") symlinkSync(workspace.path, place);
    // As a layer shows it: with the times, which Node's own copy rounds.
    else execFileSync("cp", ["-aT", workspace.path, place]);
  }

  /** Before each run. A later one finds its own links. */
  mount(mounts: SandboxSpec["mounts"] = []): void {
    for (const { folder, at } of mounts) {
      rmSync(this.#at(at), { force: true });
      mkdirSync(dirname(this.#at(at)), { recursive: true });
      symlinkSync(join(folder, "tree"), this.#at(at));
    }
  }

  #link(path: string, to: string): void {
    const folder = dirname(this.#at(path));
    mkdirSync(folder, { recursive: true });
    symlinkSync(relative(folder, to), this.#at(path));
  }

  #at(path: string): string {
    return join(this.root, path);
  }

  /** Throws `USER_UNKNOWN`. */
  home(user = this.user): string {
    const home = HOMES[user];
    if (!home) throw new BelljarError("USER_UNKNOWN", `No user "${user}" here`);
    return home;
  }

  /** Where a user's commands start and relative paths begin. Throws `USER_UNKNOWN`. */
  start(user?: string): string {
    const { home, cwd } = this.#inside;
    return cwd === home ? this.home(user) : cwd;
  }

  /** Where a path of the sandbox lies on the host. `..` never leads above the root. */
  toHost(path: Buffer, user?: string): Buffer {
    if (path.length === 0 || path.length > PATH_MAX_BYTES) throw new BelljarError("PATH_INVALID", `A path of ${path.length} bytes`);
    const text = path.toString("latin1");
    const parts: string[] = [];
    for (const part of (text.startsWith(SLASH) ? text : `${this.start(user)}/${text}`).split(SLASH)) {
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
