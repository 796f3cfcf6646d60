import { execFile } from "node:child_process";
import { lstat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import type { LayerWriter } from "./layer.ts";

const run = promisify(execFile);
/** /usr/share/locale/de/LC_MESSAGES */
const OWNED_DEPTH = 4;
const READABLE = "( -perm -0005 -o -prune ) -perm -0005".split(" ");
const MAX_LISTED_BYTES = 64 * 1024 * 1024;

/** What a sandbox sees otherwise than the host's `/usr` has it. Paths are relative to it. */
export interface UsrChanges {
  readonly usr: string;
  readonly hidden: readonly string[];
  /** Links by their paths, with their targets. They hide what the host has there. */
  readonly links: Readonly<Record<string, string>>;
  /**
   * Nobody inside owns the host's folders, so nobody could put a file into them. Those of a package's usual depth are then made again,
   * and belong to the sandbox.
   */
  readonly ownsFolders: boolean;
}

/**
 * Fills the layer that lies over the host's `/usr`: a whiteout (a character device 0:0) for each hidden path, in folders with the host's modes.
 * Links come beside them.
 * Anybody may make such a device since Linux 5.8. All whiteouts are names of one.
 */
export async function buildUsrLayer(layer: LayerWriter, { usr, hidden, links, ownsFolders }: UsrChanges): Promise<void> {
  const made = new Set(["."]);
  if (ownsFolders) await copyFolders(layer, { usr, hidden: new Set(hidden) }, made);
  const whiteouts = hidden.filter((path) => links[path] === undefined);
  for (const path of [...whiteouts, ...Object.keys(links)]) await copyParents(layer, usr, dirname(path), made);
  for (const [path, target] of Object.entries(links)) await layer.link(path, target);
  const [first, ...others] = whiteouts;
  if (first === undefined) return;
  await makeWhiteout(layer, first);
  for (const path of others) await layer.hardLink(path, first);
}

interface Shown {
  readonly usr: string;
  readonly hidden: ReadonlySet<string>;
}

/** Folders of one depth at once: those above are there. */
async function copyFolders(layer: LayerWriter, shown: Shown, made: Set<string>): Promise<void> {
  const folders = await listFolders(shown);
  for (let depth = 1; depth <= OWNED_DEPTH; depth++) {
    const level = folders.filter(({ path }) => path.split("/").length === depth);
    await Promise.all(level.map(({ path, mode }) => layer.folder(path, { mode })));
    for (const { path } of level) made.add(path);
  }
}

async function listFolders({ usr, hidden }: Shown) {
  const argv = [usr, "-xdev", "-mindepth", "1", "-maxdepth", String(OWNED_DEPTH), "-type", "d", ...READABLE, "-printf", "%m %P\\0"];
  const { stdout } = await run("find", argv, { env: { PATH: "/usr/bin:/bin", LC_ALL: "C" }, maxBuffer: MAX_LISTED_BYTES });
  const isHidden = (path: string): boolean => path !== "." && (hidden.has(path) || isHidden(dirname(path)));
  const rows = stdout.split("\0").map((row) => /^([0-7]+) (.+)$/s.exec(row) ?? []);
  return rows.flatMap(([, mode = "", path = ""]) => {
    // A name that is not UTF-8 cannot be repeated here.
    return path === "" || path.includes("\uFFFD") || isHidden(path) ? [] : [{ path, mode: Number.parseInt(mode, 8) }];
  });
}

async function copyParents(layer: LayerWriter, usr: string, folder: string, made: Set<string>): Promise<void> {
  if (made.has(folder)) return;
  await copyParents(layer, usr, dirname(folder), made);
  await layer.folder(folder, { mode: (await lstat(join(usr, folder))).mode & 0o7777 });
  made.add(folder);
}

async function makeWhiteout(layer: LayerWriter, path: string): Promise<void> {
  await run("mknod", ["-m", "0", "--", join(layer.path, path), "c", "0", "0"], { env: { PATH: "/usr/bin:/bin", LC_ALL: "C" } });
  await layer.adopt(path);
}
