import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import { delegatedGroup, leaveGroup } from "../../../../src/runtime/namespace/delegation.ts";

const mounts = readFileSync("/proc/self/mountinfo", "utf8").split("\n");
const point = mounts.find((line) => line.includes(" - cgroup2 "))?.split(" ")[4];
const root = process.getuid?.() === 0 ? point : undefined;
const controller = root && readFileSync(join(root, "cgroup.controllers"), "utf8").trim().split(" ")[0];

interface Group extends AsyncDisposable {
  readonly path: string;
  /** A process in the group; it ends with it. */
  join(): Promise<number>;
  /** Hands the controller to the group's children. */
  enable(): void;
}

/** A group of the kernel's own, as systemd delegates one. */
function makeGroup(parent: string, name: string): Group {
  const control = join(parent, "cgroup.subtree_control");
  const wasEnabled = readFileSync(control, "utf8").trim().split(" ").includes(name);
  writeFileSync(control, `+${name}`);
  const path = mkdtempSync(join(parent, "belljar-test-"));
  const ends: (() => Promise<unknown>)[] = [];
  return {
    path,
    async join() {
      const child = spawn("cat", { stdio: ["pipe", "ignore", "ignore"] });
      ends.push(() => (child.stdin.end(), once(child, "exit")));
      await once(child, "spawn");
      writeFileSync(join(path, "cgroup.procs"), String(child.pid));
      return child.pid ?? 0;
    },
    enable: () => writeFileSync(join(path, "cgroup.subtree_control"), `+${name}`),
    async [Symbol.asyncDispose]() {
      await Promise.all(ends.map((end) => end()));
      for (const folder of [join(path, "belljar-host"), path]) removeGroup(folder);
      if (!wasEnabled) writeFileSync(control, `-${name}`);
    },
  };
}

function removeGroup(folder: string): void {
  try {
    rmdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

function groupOf(pid: number): string {
  return /^0::(.*)$/m.exec(readFileSync(`/proc/${pid}/cgroup`, "utf8"))?.[1] ?? "";
}

describe.skipIf(!root || !controller)("a delegated group (skipped without root and a controller of version 2)", () => {
  it("hands out controllers once its only process has left it", async () => {
    await using group = makeGroup(root ?? "", controller ?? "");
    const pid = await group.join();
    expect(() => group.enable()).toThrow(/EBUSY/);
    expect(leaveGroup(group.path, pid)).toBe(true);
    group.enable();
    expect(groupOf(pid)).toMatch(new RegExp(`/${basename(group.path)}/belljar-host$`));
  });

  it("keeps its processes if there are others", async () => {
    await using group = makeGroup(root ?? "", controller ?? "");
    const pids = [await group.join(), await group.join()];
    expect(leaveGroup(group.path, pids[0] ?? 0)).toBe(false);
    expect(pids.map((pid) => basename(groupOf(pid)))).toEqual(pids.map(() => basename(group.path)));
  });
});

it("finds the delegated group again from below", () => {
  expect(["/a/run-1.scope", "/a/run-1.scope/belljar-host"].map(delegatedGroup)).toEqual(["/a/run-1.scope", "/a/run-1.scope"]);
});
