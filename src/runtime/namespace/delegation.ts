import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** Where Belljar's own processes sit below a version 2 group that was delegated to it. */
const OWN_GROUP = "belljar-host";

/** The delegated group of a process that sits in `folder`, or moved below it as `leaveGroup` does. */
export function delegatedGroup(folder: string): string {
  return basename(folder) === OWN_GROUP ? dirname(folder) : folder;
}

/**
 * Moves process `pid` from `group` into a child of it: the kernel hands controllers only to the children of a group without processes
 * (cgroups(7), "no internal processes"). False if other processes sit there too: they are not Belljar's to move. Throws if the kernel
 * refuses.
 */
export function leaveGroup(group: string, pid: number): boolean {
  if (readFileSync(join(group, "cgroup.procs"), "utf8").trim() !== String(pid)) return false;
  mkdirSync(join(group, OWN_GROUP), { recursive: true });
  writeFileSync(join(group, OWN_GROUP, "cgroup.procs"), String(pid));
  return true;
}
