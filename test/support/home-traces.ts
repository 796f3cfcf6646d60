import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync, readlinkSync, watch } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { UNFINISHED } from "../../src/files/replace-file.ts";

/** What a home's sandboxes are to the rest of the machine, as its kernel tells it. */
export interface HomeTraces {
  /** Command lines of processes that hold something of the home open, or were started inside with its marker. */
  readonly processes: readonly string[];
  /** The storage pool is the home's, not a sandbox's. */
  readonly mounts: readonly string[];
  readonly groups: readonly string[];
  readonly sockets: readonly string[];
}

export interface TracedHome {
  readonly home: string;
  readonly runtimeDirectory: string;
  /** A word that commands inside carry in their command lines. */
  readonly marker: string;
  /** Sandboxes whose control groups are looked for. */
  readonly ids: Iterable<string>;
}

export const NO_TRACES: HomeTraces = { processes: [], mounts: [], groups: [], sockets: [] };

export function findTraces({ home, runtimeDirectory, marker, ids }: TracedHome): HomeTraces {
  const known = new Set(ids);
  return {
    processes: pids()
      .filter((pid) => (holdsFile(pid, home) || isMarked(pid, marker)) && !isCaretaker(pid))
      .map((pid) => `${pid} ${read(`/proc/${pid}/comm`).trim()} ${commandLine(pid)}`),
    mounts: read("/proc/self/mountinfo")
      .split("\n")
      .filter((line) => line.includes(`${home}/`) && !line.includes(`${home}/pool `)),
    groups: groupFolders().flatMap((folder) => names(folder).filter((name) => known.has(name.split("-")[0] ?? ""))),
    sockets: names(runtimeDirectory),
  };
}

/** It unmounts the pool when nobody uses it any more, as the process that looks may do. `untilUnmounted` waits for its end. */
function isCaretaker(pid: number): boolean {
  return read(`/proc/${pid}/comm`) === "belljar-pool\n";
}

/** What lies in an ended sandbox's folder beside its record and its end, written or half written, and in the pool. */
export function findRemains(home: string): readonly string[] {
  const folders = names(join(home, "sandboxes")).map((id) => join("sandboxes", id));
  return [...folders, "pool"].flatMap((folder) =>
    names(join(home, folder))
      .filter((name) => !name.includes(".json") && !name.startsWith(UNFINISHED) && !isEnded(join(home, folder, name)))
      .map((name) => join(folder, name)),
  );
}

/** The folder of runs, in which nothing is left but their ends. */
function isEnded(folder: string): boolean {
  return folder.endsWith("/runs") && names(folder).every((run) => names(join(folder, run)).every((name) => name.startsWith("end.json")));
}

/** The keeper of a sandbox: who holds the folder of its run open. */
export function keeperOf(folder: string): number {
  const [pid] = pids().filter((one) => one !== process.pid && descriptors(one).some((path) => path.startsWith(`${folder}/runs/`)));
  if (pid === undefined) throw new Error(`Nobody holds ${folder} open`);
  return pid;
}

/** The process that holds the layers in memory of all sandboxes with their sockets here. */
export function holderOf(runtimeDirectory: string): number {
  const serves = (pid: number): boolean => commandLine(pid).startsWith(`belljar-holder holder ${runtimeDirectory}/holder-`);
  const [pid] = pids().filter((one) => serves(one) && read(`/proc/${one}/comm`).trim() === "belljar-holder");
  if (pid === undefined) throw new Error(`No holder serves ${runtimeDirectory}`);
  return pid;
}

/** The child of a holder that removes what it has dropped. */
export function removerOf(holder: number): number {
  return childOf(holder);
}

/** Where something is mounted, as the process sees it. */
export function mountsOf(pid: number): readonly (string | undefined)[] {
  const rows = read(`/proc/${pid}/mountinfo`).trim().split("\n");
  return rows.map((row) => row.split(" ")[4]);
}

/** The first process inside. */
export function guestOf(keeper: number): number {
  return childOf(keeper);
}

function childOf(parent: number): number {
  const [pid] = childrenOf(parent);
  if (pid === undefined) throw new Error(`Process ${parent} has no child`);
  return pid;
}

export function childrenOf(parent: number): readonly number[] {
  return pids().filter((one) => parentOf(one) === parent);
}

/** NaN once it is dead. */
export function parentOf(pid: number): number {
  return Number(/^\d+ \(.*\) \S (\d+) /s.exec(read(`/proc/${pid}/stat`))?.[1]);
}

/** Resolves once nobody holds the lock of this sandbox's folder: its keeper has gone, with all that it had to clear. */
export async function untilUnlocked(folder: string): Promise<void> {
  await promisify(execFile)("flock", [folder, "true"]);
}

/** Resolves once a process of this user has ended: nothing that it held open is open any more. */
export async function untilEnded(pid: number): Promise<void> {
  await promisify(execFile)("tail", [`--pid=${pid}`, "--sleep-interval=0.01", "--follow", "/dev/null"]);
}

/** Resolves once none of these is in the folder any more. */
export function untilGone(folder: string, gone: readonly string[]): Promise<void> {
  return until(folder, () => !gone.some((name) => existsSync(join(folder, name))));
}

export function untilThere(folder: string, name: string): Promise<void> {
  return until(folder, () => existsSync(join(folder, name)));
}

function until(folder: string, holds: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const watcher = watch(folder, look);
    function look(): void {
      if (!holds()) return;
      watcher.close();
      resolve();
    }
    look();
  });
}

/** Our groups lie below the caller's own, and each of our processes may have been started from another one. */
function groupFolders(folder = "/sys/fs/cgroup", depth = 5): string[] {
  if (depth === 0) return [];
  const inner = readdirSync(folder, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
  if (inner.includes("belljar"))
    return [join(folder, "belljar"), ...inner.filter((name) => name !== "belljar").flatMap((name) => below(folder, name, depth))];
  return inner.flatMap((name) => below(folder, name, depth));
}

function below(folder: string, name: string, depth: number): string[] {
  try {
    return groupFolders(join(folder, name), depth - 1);
  } catch {
    return []; // gone since it was listed, or closed to this user
  }
}

function pids(): number[] {
  return names("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

function holdsFile(pid: number, home: string): boolean {
  return pid !== process.pid && descriptors(pid).some((path) => path.startsWith(`${home}/`));
}

function descriptors(pid: number): string[] {
  return names(`/proc/${pid}/fd`).map((fd) => link(`/proc/${pid}/fd/${fd}`));
}

function isMarked(pid: number, marker: string): boolean {
  return pid !== process.pid && commandLine(pid).split(" ").includes(marker);
}

function commandLine(pid: number): string {
  return read(`/proc/${pid}/cmdline`).replaceAll("\0", " ");
}

/** Processes, groups and folders go while one looks: what is gone is empty. */
function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function names(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function link(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}
