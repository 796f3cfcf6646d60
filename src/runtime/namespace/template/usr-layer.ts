import { execFile } from "node:child_process";
import { lstat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import type { LayerWriter } from "./layer.ts";

const run = promisify(execFile);

/**
 * Fills the layer that lies over the host's `/usr`: a whiteout (a character device 0:0) for each hidden path, in folders with the host's modes.
 * Anybody may make such a device since Linux 5.8. All whiteouts are names of one.
 */
export async function buildUsrLayer(layer: LayerWriter, usr: string, hidden: readonly string[]): Promise<void> {
  const made = new Set(["."]);
  for (const path of hidden) await copyParents(layer, usr, dirname(path), made);
  const [first, ...others] = hidden;
  if (first === undefined) return;
  await makeWhiteout(layer, first);
  for (const path of others) await layer.hardLink(path, first);
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
