import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";

/** How many inotify watches a process has on a folder. */
export async function countWatches(folder: string, pid: number = process.pid): Promise<number> {
  const inode = `ino:${(await stat(folder)).ino.toString(16)} `;
  const infos = `/proc/${pid}/fdinfo`;
  const texts = await Promise.all((await readdir(infos)).map((fd) => readFile(join(infos, fd), "utf8").catch(() => "")));
  const lines = texts.flatMap((text) => text.split("\n"));
  return lines.filter((line) => line.startsWith("inotify ") && line.includes(` ${inode}`)).length;
}
