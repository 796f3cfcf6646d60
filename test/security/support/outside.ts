import { execFile } from "node:child_process";
import { readdir, readFile, rm } from "node:fs/promises";

export interface Outcome {
  /** Undefined when a signal ended it. */
  readonly code: number | undefined;
  readonly out: string;
  readonly err: string;
}

export interface OutsideOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly uid?: number;
}

const ENV = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LANG: "C.UTF-8" };

export const isRoot = process.getuid?.() === 0;

/** Runs a program on the host, without any sandbox: what an attack does when nothing stops it. A non-zero exit is a result. */
export async function outside(argv: readonly string[], { cwd, env, uid }: OutsideOptions = {}): Promise<Outcome> {
  const [file = "", ...args] = argv;
  return new Promise((resolve, reject) => {
    execFile(file, args, { cwd, uid, gid: uid, env: { ...ENV, ...env }, maxBuffer: 1 << 28 }, (error, out, err) => {
      if (error && typeof error.code === "string") reject(error);
      else resolve({ code: error ? (typeof error.code === "number" ? error.code : undefined) : 0, out, err });
    });
  });
}

/** Removes a folder of a test, after the storage pool that a runtime of root may have mounted below it. */
export async function removeFolder(folder: string): Promise<void> {
  const points = (await textOf("/proc/self/mountinfo")).split("\n").map((row) => row.split(" ")[4] ?? "");
  for (const point of points.filter((path) => path.startsWith(`${folder}/`))) await outside(["umount", "--lazy", "--", point]);
  await rm(folder, { recursive: true, force: true });
}

/** Seconds to sleep that no other process has in its arguments. */
export function newMark(): string {
  return `1000.${process.pid}${Math.random().toString().slice(2)}`;
}

/** Host processes whose command line holds the mark, zombies left out. */
export async function processesOf(mark: string): Promise<readonly number[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(pids.map(async (pid) => ((await textOf(`/proc/${pid}/cmdline`)).includes(mark) ? [Number(pid)] : [])));
  return found.flat().filter((pid) => pid !== process.pid);
}

/** A row of `/proc/PID/status`. */
export async function statusOf(pid: number, name: string): Promise<string> {
  const row = new RegExp(`^${name}:\\s*(.*)$`, "m").exec(await textOf(`/proc/${pid}/status`));
  return row?.[1] ?? "";
}

async function textOf(path: string): Promise<string> {
  return readFile(path, "utf8").catch(() => "");
}
