import { realpath } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { allPages } from "../../async/all-pages.ts";
import { isBelow } from "../../files/is-below.ts";
import { LOCAL, type Principal, SANDBOX_STATES, type Sandboxes } from "../../sandbox/sandbox.ts";

export interface ShownFolders {
  /** Shown as `rw` by the configuration, and by entries of servers. */
  readonly folders: readonly string[];
  readonly sandboxes: Pick<Sandboxes, "list">;
  /** Ids of the owners whose sandboxes are looked at, beside the local user. */
  readonly owners: readonly string[];
}

/**
 * Whether a program in a sandbox may have written the file: it lies below a folder of the host that a sandbox of the home was given as `rw`, one that has
 * ended lately too.
 */
export async function isShownToWrite(file: string, { folders, sandboxes, owners }: ShownFolders): Promise<boolean> {
  const paths = await pathsOf(file);
  const isIn = async (folder: string): Promise<boolean> => {
    const real = await realpath(folder).catch(() => folder);
    return paths.some((path) => isBelow(path, folder) || isBelow(path, real));
  };
  for (const folder of folders) if (await isIn(folder)) return true;
  for (const id of [LOCAL.id, ...owners])
    for await (const folder of writtenBy(sandboxes, { id, name: id })) if (await isIn(folder)) return true;
  return false;
}

async function* writtenBy(sandboxes: Pick<Sandboxes, "list">, principal: Principal): AsyncGenerator<string> {
  const pages = allPages(async (cursor) => {
    const page = await sandboxes.list(principal, { filter: { state: SANDBOX_STATES }, cursor });
    return { items: page.sandboxes, nextCursor: page.nextCursor };
  });
  for await (const { workspace } of pages) if (workspace?.mode === "rw") yield workspace.path;
}

/** The file, and where its links lead. */
async function pathsOf(file: string): Promise<readonly string[]> {
  const path = resolve(file);
  const folder = await realpath(dirname(path)).catch(() => dirname(path));
  return [path, join(folder, basename(path)), await realpath(path).catch(() => path)];
}
