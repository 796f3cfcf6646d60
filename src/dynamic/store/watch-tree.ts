import { lstatSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { BelljarError } from "../../errors.ts";
import { nowIfPresent } from "../../files/file-error.ts";
import { watchFolder } from "../../files/watch-folder.ts";

export interface TreeEars {
  /** Something at the path changed: names of folders, and in the end perhaps a file. A new folder is told once, for all that it holds. */
  readonly changed: (path: readonly string[]) => void;
  readonly failed: (cause: unknown) => void;
}

interface TreePlace {
  readonly path: readonly string[];
  readonly depth: number;
  /** Called when the folder itself changed: the watch may be one of a folder that is gone. */
  readonly renew: () => void;
}

interface Child {
  readonly inode: number;
  readonly node: TreeNode;
}

/** Watches a folder and so many levels of folders below it until it is closed. Links and names with a leading dot are left out. */
export function watchTree(folder: string, depth: number, ears: TreeEars): { close(): void } {
  const renew = (): void => {
    if (nowIfPresent(folder, () => lstatSync(folder)) !== undefined) return;
    ears.failed(new BelljarError("FILE_IO", `${folder} is gone: put it back, and start Belljar again`));
  };
  return new TreeNode(folder, { path: [], depth, renew }, ears);
}

class TreeNode {
  readonly #folder: string;
  readonly #place: TreePlace;
  readonly #ears: TreeEars;
  readonly #children = new Map<string, Child>();
  readonly #watch: { close(): void };

  constructor(folder: string, place: TreePlace, ears: TreeEars) {
    this.#folder = folder;
    this.#place = place;
    this.#ears = ears;
    this.#watch = watchFolder(folder, { changed: (name) => this.#changed(name), failed: ears.failed });
    // After the watch has begun, so that no folder is missed.
    if (place.depth > 0) for (const name of nowIfPresent(folder, () => readdirSync(folder)) ?? []) this.#look(name);
  }

  close(): void {
    this.#watch.close();
    for (const { node } of this.#children.values()) node.close();
  }

  #changed(name: string): void {
    // So inotify says that the folder itself changed, or is gone.
    if (name === basename(this.#folder)) this.#place.renew();
    if (name.startsWith(".")) return;
    if (this.#place.depth > 0) this.#look(name);
    this.#ears.changed([...this.#place.path, name]);
  }

  /** Follows a folder that came, went, or gave way to another one. */
  #look(name: string): void {
    if (name.startsWith(".")) return;
    try {
      const path = join(this.#folder, name);
      const found = nowIfPresent(path, () => lstatSync(path));
      const inode = found?.isDirectory() === true ? found.ino : undefined;
      if (this.#children.get(name)?.inode !== inode) this.#follow(name, inode);
    } catch (cause) {
      this.#ears.failed(cause);
    }
  }

  #follow(name: string, inode: number | undefined): void {
    this.#children.get(name)?.node.close();
    this.#children.delete(name);
    if (inode === undefined) return;
    const path = [...this.#place.path, name];
    const node = new TreeNode(join(this.#folder, name), { path, depth: this.#place.depth - 1, renew: () => this.#renew(name) }, this.#ears);
    this.#children.set(name, { inode, node });
  }

  /** A new folder may have the inode of the old one. */
  #renew(name: string): void {
    this.#follow(name, undefined);
    this.#look(name);
    this.#ears.changed([...this.#place.path, name]);
  }
}
