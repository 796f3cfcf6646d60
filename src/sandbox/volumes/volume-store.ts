import { createHash } from "node:crypto";
import { lstat, mkdir, readdir, readFile, realpath, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { mapLimit } from "../../async/map-limit.ts";
import { BelljarError } from "../../errors.ts";
import { errnoOf, fileError, ifPresent } from "../../files/file-error.ts";
import { createPrivateFile, ensurePrivateFolder } from "../../files/private-files.ts";
import { flushPath, UNFINISHED } from "../../files/replace-file.ts";
import type { SharedFolders } from "../../runtime/contract/shared-folders.ts";
import { createSandboxId } from "../sandbox-id.ts";
import { isVolumeId, parseVolume, placeOf, type Volume } from "./volume.ts";

const RECORD = "volume.json";
/** What is being removed. */
const GONE = ".gone-";
/** In a bin: what is being uploaded. */
export const PART = "part";
const BLOCK_BYTES = 512;
const PARALLEL = 8;
const LEFT_MS = 3_600_000;

/**
 * The volumes of a home: `volumes/<place>/` with `volume.json` and `tree/`. The place is made of owner and name, so that of several processes that
 * make one of the same name one does. A folder comes and goes whole, by one rename.
 */
export class VolumeStore {
  readonly #folder: string;

  constructor(home: string) {
    this.#folder = join(home, "volumes");
  }

  folder({ id }: Pick<Volume, "id">): string {
    return join(this.#folder, placeOf(id));
  }

  /** Without a link in it: whoever reads below it looks for links that came later. */
  async tree(volume: Pick<Volume, "id">): Promise<string> {
    return join(await realpath(this.#folder), placeOf(volume.id), "tree");
  }

  /** False if its owner has one of that name. */
  async make(volume: Volume, shared: SharedFolders): Promise<boolean> {
    await ensurePrivateFolder(this.#folder);
    const fresh = join(this.#folder, UNFINISHED + volume.id);
    try {
      await mkdir(fresh, { mode: 0o700 });
      await shared.make(fresh);
      await createPrivateFile(join(fresh, RECORD), JSON.stringify(volume));
      if (!(await isMoved(fresh, this.folder(volume)))) return false;
      await flushPath(this.#folder);
      return true;
    } catch (cause) {
      throw cause instanceof BelljarError ? cause : fileError(fresh, cause);
    } finally {
      await rm(fresh, { recursive: true, force: true });
    }
  }

  async find(id: string): Promise<Volume | undefined> {
    const volume = isVolumeId(id) ? await this.#read(placeOf(id)) : undefined;
    return volume?.id === id ? volume : undefined;
  }

  findNamed(owner: string, name: string): Promise<Volume | undefined> {
    return this.#read(placeFor(owner, name));
  }

  async list(): Promise<readonly Volume[]> {
    const places = await this.#names((name) => /^[a-z0-9]+$/.test(name));
    const found = await mapLimit(places, PARALLEL, (place) => this.#read(place));
    return found.filter((volume) => volume !== undefined);
  }

  /** From now on nobody finds it. Undefined: somebody else has removed it. */
  async setAside(volume: Volume): Promise<string | undefined> {
    const aside = join(this.#folder, GONE + volume.id);
    const found = await this.find(volume.id);
    return found && (await isMoved(this.folder(volume), aside)) ? aside : undefined;
  }

  /** False if there is another one of its name by now. */
  putBack(volume: Volume): Promise<boolean> {
    return isMoved(join(this.#folder, GONE + volume.id), this.folder(volume));
  }

  /** Of a volume that was set aside, or a part of one. Its place is gone whether or not a crash comes. */
  async erase(aside: string, shared: SharedFolders): Promise<void> {
    await shared.remove(aside);
    await rm(aside, { recursive: true, force: true });
  }

  /** A folder beside its files, for a part of them that is removed, or that is not whole yet. The caller removes it. */
  async makeBin(volume: Pick<Volume, "id">): Promise<string> {
    const bin = join(this.folder(volume), GONE + createSandboxId());
    await mkdir(bin, { mode: 0o700 });
    return bin;
  }

  /** Volumes that were set aside, and whose removal has not ended for an hour: its process has died. */
  async leftAside(now = Date.now()): Promise<readonly { readonly aside: string; readonly volume: Volume }[]> {
    const names = await this.#old(this.#folder, GONE, now);
    const found = await mapLimit(names, PARALLEL, async (name) => {
      const volume = await this.#read(name, placeOf(name.slice(GONE.length)));
      return volume ? [{ aside: join(this.#folder, name), volume }] : [];
    });
    return found.flat();
  }

  /** The same of parts of a volume. */
  async leftBins(volume: Volume, now = Date.now()): Promise<readonly string[]> {
    const folder = this.folder(volume);
    return (await this.#old(folder, GONE, now)).map((name) => join(folder, name));
  }

  /** What uploads have brought that have not ended. */
  async partBytes(volume: Pick<Volume, "id">): Promise<number> {
    const folder = this.folder(volume);
    const bins = ((await ifPresent(folder, readdir(folder))) ?? []).filter((name) => name.startsWith(GONE));
    const sizes = await mapLimit(bins, PARALLEL, async (name) => {
      const path = join(folder, name, PART);
      return ((await ifPresent(path, lstat(path)))?.blocks ?? 0) * BLOCK_BYTES;
    });
    return sizes.reduce((sum, bytes) => sum + bytes, 0);
  }

  async #old(folder: string, prefix: string, now: number): Promise<readonly string[]> {
    const names = ((await ifPresent(folder, readdir(folder))) ?? []).filter((name) => name.startsWith(prefix));
    const looked = await mapLimit(names, PARALLEL, async (name) => {
      const stats = await ifPresent(name, stat(join(folder, name)));
      return stats && stats.ctimeMs < now - LEFT_MS ? [name] : [];
    });
    return looked.flat();
  }

  async #read(folder: string, place = folder): Promise<Volume | undefined> {
    const path = join(this.#folder, folder, RECORD);
    const text = await ifPresent(path, readFile(path, "utf8"));
    return text === undefined ? undefined : parseVolume(place, text);
  }

  async #names(isWanted: (name: string) => boolean): Promise<readonly string[]> {
    return ((await ifPresent(this.#folder, readdir(this.#folder))) ?? []).filter(isWanted);
  }
}

/** Where a volume of that name lies, and the first part of its id. */
function placeFor(owner: string, name: string): string {
  const hash = createHash("sha256")
    .update(JSON.stringify([owner, name]))
    .digest();
  return [...hash.subarray(0, 20)].map((byte) => (byte % 36).toString(36)).join("");
}

export function createVolumeId(owner: string, name: string): string {
  return placeFor(owner, name) + createSandboxId();
}

/** False when there is a folder at `to` that holds something, or none at `from`. */
async function isMoved(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to);
    return true;
  } catch (cause) {
    if (["ENOTEMPTY", "EEXIST", "ENOENT"].includes(errnoOf(cause) ?? "")) return false;
    throw fileError(to, cause);
  }
}
