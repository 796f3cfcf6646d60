import { BelljarError } from "../../errors.ts";
import { LIST_LEVELS_MAX } from "../../protocol/wire.ts";
import type { FileInfo } from "../../runtime/guest/guest.ts";
import type { Sandbox } from "../sandbox.ts";
import { assertRelativePath, fromKey, parentKey, showPath, toKey } from "./entry.ts";
import { isTooDeep } from "./too-deep.ts";

/** Of all paths together: half a million of the longest ones would fill this process's memory. */
const MAX_NAMES_BYTES = 64 * 1024 * 1024;

export interface GuestTreeOptions {
  readonly signal: AbortSignal;
  readonly user?: string;
  readonly maxEntries: number;
}

/**
 * What lies below a folder of a sandbox, by key. The guest is not trusted: paths are relative, stand once, and lie in a folder that the
 * guest has named as one; else `PATH_INVALID`. What lies in folders that are too deep is left out. Past `maxEntries` it is `FILE_TOO_LARGE`, whatever was listed in how many parts.
 */
export class GuestTree {
  readonly #sandbox: Sandbox;
  readonly #options: GuestTreeOptions;
  readonly #entries = new Map<string, FileInfo>();
  /** Of the guest's answers, also of those that are left out: a list has an end. */
  #listed = 0;
  #namesBytes = 0;

  constructor(sandbox: Sandbox, options: GuestTreeOptions) {
    this.#sandbox = sandbox;
    this.#options = options;
  }

  get entries(): ReadonlyMap<string, FileInfo> {
    return this.#entries;
  }

  /** Adds what lies in a folder whose key this is, and gives it back. Folders of the `closed` names are added without what lies in them. */
  async add(path: string | Buffer, above: string, closed: readonly string[] = []): Promise<ReadonlyMap<string, FileInfo>> {
    const { signal, user } = this.#options;
    const added = new Map<string, FileInfo>();
    const call = { signal, depth: LIST_LEVELS_MAX, closed, ...(user !== undefined && { user }) };
    for await (const info of this.#sandbox.guest.files.list(path, call)) {
      const below = above === "" ? info : underneath(above, info);
      const key = toKey(below.rawPath);
      this.#count();
      if (isTooDeep(parentKey(key))) continue;
      assertRelativePath(below.rawPath);
      this.#note(key, below);
      added.set(key, below);
    }
    assertFoldersAbove(this.#entries, added);
    return added;
  }

  #note(key: string, info: FileInfo): void {
    if (this.#entries.has(key)) throw new BelljarError("PATH_INVALID", `The sandbox names ${showPath(info.rawPath)} twice`);
    this.#entries.set(key, info);
    this.#namesBytes += info.rawPath.length;
    if (this.#namesBytes > MAX_NAMES_BYTES)
      throw new BelljarError("FILE_TOO_LARGE", "The paths in the sandbox's folder are too long, all together, to take it out");
  }

  #count(): void {
    this.#listed += 1;
    if (this.#listed > this.#options.maxEntries)
      throw new BelljarError(
        "FILE_TOO_LARGE",
        `The sandbox's folder holds more than ${this.#options.maxEntries} entries: too many to take out`,
      );
  }
}

/** All that lies below a folder of a sandbox. */
export async function readGuestTree(
  sandbox: Sandbox,
  path: string | Buffer,
  options: GuestTreeOptions,
): Promise<ReadonlyMap<string, FileInfo>> {
  return new GuestTree(sandbox, options).add(path, "");
}

function underneath(above: string, info: FileInfo): FileInfo {
  return { ...info, rawPath: Buffer.concat([fromKey(`${above}/`), info.rawPath]) };
}

function assertFoldersAbove(tree: ReadonlyMap<string, FileInfo>, added: ReadonlyMap<string, FileInfo>): void {
  for (const [key, { rawPath }] of added) {
    const parent = parentKey(key);
    if (parent === "" || tree.get(parent)?.type === "directory") continue;
    throw new BelljarError("PATH_INVALID", `The sandbox names ${showPath(rawPath)}, but what lies above it is not a folder`);
  }
}
