import { constants } from "node:fs";
import { chmod, copyFile, lchown, link, mkdir, open, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

/** Larger files of the host are not settings. */
const MAX_COPIED_BYTES = 32 * 1024 * 1024;

export interface EntryOptions {
  readonly mode?: number;
  /** User and group id inside. */
  readonly owner?: number;
}

/** Writes one layer: modes hold whatever the umask is, owners are the canonical ids when there are any. Paths are relative to the layer. */
export interface LayerWriter {
  readonly path: string;
  folder(path: string, options?: EntryOptions): Promise<void>;
  file(path: string, content: string | Uint8Array, options?: EntryOptions): Promise<void>;
  /** A copy of a host file of any size, sharing its blocks where the file system can. */
  copy(path: string, from: string, options?: EntryOptions): Promise<void>;
  link(path: string, target: string, options?: EntryOptions): Promise<void>;
  /** A second name of an entry. */
  hardLink(path: string, existing: string): Promise<void>;
  /** Gives an entry that another program made its owner. */
  adopt(path: string): Promise<void>;
}

/** `path` is made; the caller owns it and removes it on failure. */
export async function createLayer(path: string, canonicalUid: number | undefined): Promise<LayerWriter> {
  const own = async (target: string, owner = 0): Promise<void> => {
    if (canonicalUid !== undefined) await lchown(target, canonicalUid + owner, canonicalUid + owner);
  };
  const layer: LayerWriter = {
    path,
    async folder(name, { mode = 0o755, owner } = {}) {
      const target = join(path, name);
      await mkdir(target, { recursive: true });
      await chmod(target, mode);
      await own(target, owner);
    },
    async file(name, content, { mode = 0o644, owner } = {}) {
      const target = join(path, name);
      await writeFile(target, content, { flag: "wx", mode: 0o600 });
      await chmod(target, mode);
      await own(target, owner);
    },
    async copy(name, from, { mode = 0o644, owner } = {}) {
      const target = join(path, name);
      await copyFile(from, target, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
      await chmod(target, mode);
      await own(target, owner);
    },
    async link(name, target, { owner } = {}) {
      await symlink(target, join(path, name));
      await own(join(path, name), owner);
    },
    async hardLink(name, existing) {
      await link(join(path, existing), join(path, name));
    },
    async adopt(name) {
      await own(join(path, name));
    },
  };
  await layer.folder("");
  return layer;
}

/** Makes every folder above `path`, topmost first, so that each gets its mode and owner. */
export async function makeParents(layer: LayerWriter, path: string): Promise<void> {
  const parent = dirname(path);
  if (parent === "." || parent === "/") return;
  await makeParents(layer, parent);
  await layer.folder(parent);
}

/** The content of a regular file that the whole world may read; undefined for anything else. Checked on the open file, never by name. */
export async function readWorldFile(path: string): Promise<{ readonly content: Buffer; readonly mode: number } | undefined> {
  // O_NONBLOCK: opening a FIFO must not wait for its writer.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;
  await using file = await open(path, flags);
  const stat = await file.stat();
  if (!stat.isFile() || (stat.mode & 0o004) === 0 || stat.size > MAX_COPIED_BYTES) return undefined;
  return { content: await file.readFile(), mode: stat.mode & 0o755 };
}
