import type { Readable } from "node:stream";
import { BelljarError } from "../../../errors.ts";
import { INSIDE } from "../../../protocol/inside.ts";
import type { FileCall, FileInfo, Guest } from "../../../runtime/guest/guest.ts";
import type { StateEntry } from "../../../runtime/contract/state-store.ts";
import { carriedAttributes } from "./attributes.ts";

/**
 * Writes into a live sandbox, from inside, under the user to whom a path belongs; where that one may not, as root. So a program inside that
 * exchanges a folder for a link gains nothing that it may not do itself. A sandbox without root has its user alone.
 */
export class GuestHand {
  readonly #guest: Guest;
  readonly #signal: AbortSignal;
  #hasRoot = true;

  constructor(guest: Guest, signal: AbortSignal) {
    this.#guest = guest;
    this.#signal = signal;
  }

  /** A folder only if it is empty. What is gone already is removed. */
  async remove(path: Buffer): Promise<void> {
    try {
      await this.#as(INSIDE.userId, (call) => this.#guest.files.remove(path, call));
    } catch (cause) {
      if (!isCode(cause, "FILE_NOT_FOUND")) throw cause;
    }
  }

  async makeDirectory(path: Buffer, { wanted, mode }: { readonly wanted: StateEntry; readonly mode: number }): Promise<void> {
    await this.#as(wanted.uid, (call) => this.#guest.files.makeDirectory(path, { ...call, mode }));
  }

  /** Readers see the old file or the new one. Blocks of zeros become holes. `content` may be asked for twice. */
  async write(
    path: Buffer,
    { wanted, content }: { readonly wanted: StateEntry; readonly content: () => Buffer | Readable },
  ): Promise<void> {
    if ((await this.#look(path))?.type === "link") throw new BelljarError("FILE_EXISTS", "it has become a link meanwhile: try again");
    await this.#as(wanted.uid, (call) =>
      this.#guest.files.write(path, content(), { ...call, mode: wanted.mode, parents: false, sparse: true }),
    );
  }

  /**
   * Gives a finished file one more name, in place of the file that has that name. False: the file has no such name, and whatever stands
   * there is to be written. If a program inside exchanges the file meanwhile, the other file is not taken for it.
   */
  async link(path: Buffer, { wanted, from }: { readonly wanted: StateEntry; readonly from: Buffer }): Promise<boolean> {
    const [made, target, source] = [await this.#look(from), textOf(path), textOf(from)];
    if (!made || !isLike(made, wanted) || target === undefined || source === undefined) return false;
    const user = wanted.uid === INSIDE.userId || !this.#hasRoot ? INSIDE.user : INSIDE.root;
    if (!(await this.#isRun(["ln", "-fPT", "--", source, target], user))) return false;
    const found = await this.#look(path);
    return found?.inode === made.inode && isLike(found, wanted);
  }

  async symlink(path: Buffer, { wanted, target }: { readonly wanted: StateEntry; readonly target: Buffer }): Promise<void> {
    await this.#as(wanted.uid, (call) => this.#guest.files.symlink(path, target, call));
  }

  /** Its owner, its extended attributes and its mode. */
  async finish(path: Buffer, wanted: StateEntry): Promise<void> {
    let found = await this.#look(path);
    if (!found || found.type !== wanted.type) throw new BelljarError("FILE_EXISTS", "it was changed meanwhile: try again");
    if (found.uid !== wanted.uid || found.gid !== wanted.gid) {
      await this.#own(path, wanted);
      found = await this.#look(path);
    }
    if (wanted.type === "link") return;
    await this.#setAttributes(path, wanted);
    if (found?.mode === wanted.mode) return;
    await this.#as(wanted.uid, (call) => this.#guest.files.setAttributes(path, { ...call, mode: wanted.mode }));
  }

  async #setAttributes(path: Buffer, wanted: StateEntry): Promise<void> {
    const { files } = this.#guest;
    const attributes = carriedAttributes(wanted);
    // A file was made anew, and has none.
    const names = wanted.type === "directory" ? await this.#as(wanted.uid, (call) => files.listXattrs(path, call)) : [];
    const gone = names.filter((name) => isOfUsers(name) && !attributes.has(name));
    for (const name of gone) await this.#as(wanted.uid, (call) => files.removeXattr(path, name, call));
    for (const [name, value] of attributes) await this.#as(wanted.uid, (call) => files.setXattr(path, name, value, call));
  }

  async #look(path: Buffer): Promise<FileInfo | undefined> {
    try {
      return await this.#as(INSIDE.rootId, (call) => this.#guest.files.stat(path, call));
    } catch (cause) {
      if (isCode(cause, "FILE_NOT_FOUND")) return undefined;
      throw cause;
    }
  }

  async #own(path: Buffer, { uid, gid }: StateEntry): Promise<void> {
    const text = textOf(path);
    const isDone = text !== undefined && this.#hasRoot && (await this.#isRun(["chown", "-h", "--", `${uid}:${gid}`, text], INSIDE.root));
    if (!isDone) throw new BelljarError("FILE_DENIED", `its owner cannot be set to ${uid}:${gid}: set it by hand`);
  }

  async #isRun(argv: readonly string[], user: string): Promise<boolean> {
    const { exitCode } = await this.#guest.run({ argv, cwd: "/", user, signal: this.#signal, timeoutMs: 10_000 });
    return exitCode === 0;
  }

  /** The sandbox's user and its root are the two that every sandbox knows; what belongs to others is made by root. */
  async #as<T>(uid: number, work: (call: FileCall) => Promise<T>): Promise<T> {
    if (uid !== INSIDE.userId && this.#hasRoot) return this.#asRoot(work);
    try {
      return await work({ user: INSIDE.user, signal: this.#signal });
    } catch (cause) {
      if (!isCode(cause, "FILE_DENIED") || !this.#hasRoot) throw cause;
      return this.#asRoot(work, cause);
    }
  }

  async #asRoot<T>(work: (call: FileCall) => Promise<T>, denied?: unknown): Promise<T> {
    try {
      return await work({ user: INSIDE.root, signal: this.#signal });
    } catch (cause) {
      if (!isCode(cause, "USER_UNKNOWN")) throw cause;
      this.#hasRoot = false;
      if (denied !== undefined) throw denied;
      return work({ user: INSIDE.user, signal: this.#signal });
    }
  }
}

/** A path that is no text cannot be an argument. */
function textOf(path: Buffer): string | undefined {
  const text = path.toString();
  return Buffer.from(text).equals(path) ? text : undefined;
}

function isLike(found: FileInfo, wanted: StateEntry): boolean {
  const isSameOwner = found.uid === wanted.uid && found.gid === wanted.gid;
  return found.type === wanted.type && isSameOwner && found.mode === wanted.mode && found.size === wanted.size;
}

/** The overlays keep theirs out of sight. An overlay that a program inside has mounted has its own. */
function isOfUsers(name: string): boolean {
  return name.startsWith("user.") && !name.startsWith("user.overlay.");
}

function isCode(cause: unknown, code: BelljarError["code"]): boolean {
  return cause instanceof BelljarError && cause.code === code;
}
