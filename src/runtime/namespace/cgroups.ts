import { accessSync, constants, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Limits } from "../contract/sandbox-spec.ts";
import { delegatedGroup, leaveGroup } from "./delegation.ts";

/** One control group folder under which each sandbox gets its own. Kinds as in `native/jail/jail.h`. */
export interface CgroupBase {
  readonly kind: CgroupKind;
  readonly path: string;
}

export const CGROUP_KIND = { memory: 1, pids: 2, cpu: 3, cpuacct: 4, freezer: 5, v2: 6 } as const;
export type CgroupKind = keyof typeof CGROUP_KIND;

export interface Cgroups {
  readonly bases: readonly CgroupBase[];
  readonly limits: readonly (keyof Limits)[];
  readonly freezer: boolean;
  /** The processor's time is counted, whether or not it can be limited. */
  readonly countsTime: boolean;
  /** What the kernel itself holds for a sandbox counts against its limit on memory: all of it, all but the queues of sockets, or nothing. */
  readonly kernelMemory: "counted" | "without-sockets" | "uncounted";
  /** Why there are none, or fewer than could be. */
  readonly problem?: string;
}

const OUR_FOLDER = "belljar";
const V2_CONTROLLERS = ["memory", "pids", "cpu"] as const;
const LIMIT_OF = { memory: "memoryBytes", pids: "pids", cpu: "cpus" } as const satisfies Partial<Record<CgroupKind, keyof Limits>>;

/**
 * Finds by trying which limits hold over whole trees of processes. Children of the caller's own groups: an outer limit still holds.
 * `proc` is where the kernel tells of its groups.
 */
export function findCgroups(proc = "/proc"): Cgroups {
  const told = { mounts: cgroupMounts(proc), paths: ownPaths(proc), switchedOff: switchedOff(proc) };
  const v1 = findV1(told);
  if (v1.bases.length > 0) return v1;
  return findV2(told);
}

interface Told {
  readonly mounts: readonly CgroupMount[];
  /** Controller -> this process's own group; the unified hierarchy under "". */
  readonly paths: ReadonlyMap<string, string>;
  /** Of the kernel's counts of its own memory. */
  readonly switchedOff: readonly string[];
}

interface CgroupMount {
  readonly point: string;
  readonly root: string;
  readonly controllers: readonly string[];
  readonly isV2: boolean;
}

function cgroupMounts(proc: string): readonly CgroupMount[] {
  return readFileSync(join(proc, "self/mountinfo"), "utf8").split("\n").flatMap(parseMount);
}

/** See proc_pid_mountinfo(5): optional fields end with " - ". */
function parseMount(line: string): CgroupMount[] {
  const [left, right] = line.split(" - ");
  const [, , , root, point] = left?.split(" ") ?? [];
  const [type, , options] = right?.split(" ") ?? [];
  if (root === undefined || point === undefined || options === undefined) return [];
  if (type !== "cgroup" && type !== "cgroup2") return [];
  return [{ point, root, controllers: options.split(","), isV2: type === "cgroup2" }];
}

function ownPaths(proc: string): Told["paths"] {
  const paths = new Map<string, string>();
  for (const line of readFileSync(join(proc, "self/cgroup"), "utf8").split("\n")) {
    const [, controllers, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (path !== undefined) for (const controller of (controllers ?? "").split(",")) paths.set(controller, path);
  }
  return paths;
}

function ownFolder(mount: CgroupMount, path: string): string {
  const inside = mount.root !== "/" && path.startsWith(mount.root) ? path.slice(mount.root.length) : path;
  return join(mount.point, inside);
}

function findV1({ mounts, paths, switchedOff }: Told): Cgroups {
  const kinds: readonly CgroupKind[] = ["memory", "pids", "cpu", "cpuacct", "freezer"];
  const bases = kinds.flatMap((kind) => {
    const mount = mounts.find(({ controllers, isV2 }) => !isV2 && controllers.includes(kind));
    const path = paths.get(kind);
    if (!mount || path === undefined) return [];
    const base = join(ownFolder(mount, path), OUR_FOLDER);
    return canUse(base, "tasks") ? [{ kind, path: base }] : [];
  });
  const memory = bases.find(({ kind }) => kind === "memory");
  /* Version 1 counts the queues of sockets apart, and only where the jail can set a limit on them. */
  const countsSockets = memory !== undefined && canUse(memory.path, "memory.kmem.tcp.limit_in_bytes");
  return withoutTwins({
    bases,
    limits: bases.flatMap(({ kind }) => (kind in LIMIT_OF ? [LIMIT_OF[kind as keyof typeof LIMIT_OF]] : [])),
    freezer: bases.some(({ kind }) => kind === "freezer"),
    countsTime: bases.some(({ kind }) => kind === "cpuacct"),
    kernelMemory: kernelMemory(switchedOff, memory !== undefined, countsSockets),
  });
}

/** Whoever boots the machine can switch the counts off; see cgroup.memory in the kernel's parameters. */
function switchedOff(proc: string): Told["switchedOff"] {
  return /\bcgroup\.memory=(\S*)/.exec(readFileSync(join(proc, "cmdline"), "utf8"))?.[1]?.split(",") ?? [];
}

function kernelMemory(switchedOff: Told["switchedOff"], hasGroup: boolean, countsSockets: boolean): Cgroups["kernelMemory"] {
  if (!hasGroup || switchedOff.includes("nokmem")) return "uncounted";
  return countsSockets && !switchedOff.includes("nosocket") ? "counted" : "without-sockets";
}

/** Controllers that are mounted together (cpu,cpuacct) share one folder, which is made once. */
function withoutTwins(cgroups: Cgroups): Cgroups {
  const seen = new Set<string>();
  const bases = cgroups.bases.filter(({ path }) => !seen.has(path) && seen.add(path));
  return { ...cgroups, bases };
}

function findV2({ mounts, paths, switchedOff }: Told): Cgroups {
  const mount = mounts.find(({ isV2 }) => isV2);
  const path = paths.get("");
  if (!mount || path === undefined) return none("no control groups are mounted");
  const own = delegatedGroup(ownFolder(mount, path));
  for (const folder of new Set([own, mount.point])) {
    const found = v2Below(folder, switchedOff);
    if (found) return found;
  }
  return (makesRoom(own) ? v2Below(own, switchedOff) : undefined) ?? none(NOT_DELEGATED);
}

const NOT_DELEGATED =
  "no control group is delegated to this user with the memory, pids and cpu controllers, or other processes than Belljar sit in it";

function v2Below(folder: string, switchedOff: Told["switchedOff"]): Cgroups | undefined {
  const controllers = delegate(folder);
  if (controllers.length === 0) return undefined;
  return {
    bases: [{ kind: "v2", path: join(folder, OUR_FOLDER) }],
    limits: controllers.map((controller) => LIMIT_OF[controller]),
    freezer: true,
    countsTime: true,
    kernelMemory: kernelMemory(switchedOff, controllers.includes("memory"), true),
  };
}

/** Belljar itself stands in the way of the controllers, if it was started right in a delegated group. */
function makesRoom(group: string): boolean {
  const hasControllers = V2_CONTROLLERS.some((controller) => listed(join(group, "cgroup.controllers"), controller));
  return hasControllers && (tryTo(() => leaveGroup(group, process.pid)) ?? false);
}

function none(problem: string): Cgroups {
  return { bases: [], limits: [], freezer: false, countsTime: false, kernelMemory: "uncounted", problem };
}

/** Which controllers our folder under `folder` can hand to sandboxes. */
function delegate(folder: string): (typeof V2_CONTROLLERS)[number][] {
  const base = join(folder, OUR_FOLDER);
  enable(folder);
  if (!canUse(base, "cgroup.procs")) return [];
  enable(base);
  return V2_CONTROLLERS.filter((controller) => listed(join(base, "cgroup.subtree_control"), controller));
}

function enable(folder: string): void {
  for (const controller of V2_CONTROLLERS) tryTo(() => writeFileSync(join(folder, "cgroup.subtree_control"), `+${controller}`));
}

function listed(file: string, word: string): boolean {
  return tryTo(() => readFileSync(file, "utf8").trim().split(" ").includes(word)) ?? false;
}

function canUse(base: string, file: string): boolean {
  return (
    tryTo(() => {
      mkdirSync(base, { recursive: true });
      accessSync(join(base, file), constants.W_OK);
      return true;
    }) ?? false
  );
}

/** Trying is how one finds out here: a refusal is the answer, not a failure. */
function tryTo<T>(attempt: () => T): T | undefined {
  try {
    return attempt();
  } catch {
    return undefined;
  }
}
