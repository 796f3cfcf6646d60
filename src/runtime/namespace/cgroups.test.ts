import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findCgroups } from "./cgroups.ts";

/** Of a machine: what the kernel tells a process of its groups, and the folders where they are mounted. */
let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "belljar-cgroups-"));
  mkdirSync(join(root, "proc/self"), { recursive: true });
});
afterEach(() => rmSync(root, { recursive: true }));

interface Machine {
  /** Folders of hierarchies, with the controllers that are mounted there; `*` before those of version 2. */
  readonly mounts?: Readonly<Record<string, string>>;
  /** As `/proc/self/cgroup` has them. */
  readonly groups?: readonly string[];
  /** The part of each hierarchy that is mounted. */
  readonly mounted?: string;
  readonly commandLine?: string;
}

function find({ mounts = {}, groups = [], mounted = "/", commandLine = "quiet" }: Machine) {
  const lines = Object.entries(mounts).map(([name, options], index) => {
    const type = options.startsWith("*") ? "cgroup2" : "cgroup";
    return `${31 + index} 23 0:29 ${mounted} ${join(root, name)} rw,relatime shared:9 - ${type} cgroup ${options.replace(/^\*/, "rw,")}`;
  });
  writeFileSync(join(root, "proc/self/mountinfo"), ["20 1 0:1 / / rw - ext4 /dev/sda rw", "", ...lines, ""].join("\n"));
  writeFileSync(join(root, "proc/self/cgroup"), [...groups, ""].join("\n"));
  writeFileSync(join(root, "proc/cmdline"), `${commandLine}\n`);
  return findCgroups(join(root, "proc"));
}

/** A group of Belljar's with its files, as the kernel makes them. */
function makeGroup(path: string, ...files: readonly string[]): string {
  const base = join(root, path, "belljar");
  mkdirSync(base, { recursive: true });
  for (const file of files) writeFileSync(join(base, file), "");
  return base;
}

const ALL = { memory: "rw,memory", pids: "rw,pids", cpu: "rw,cpu,cpuacct", freezer: "rw,freezer" };
const GROUPS = ["9:name=systemd:/", "8:pids:/a", "6:freezer:/", "4:memory:/a/b", "1:cpu,cpuacct:/", "0::/"];

function makeAll() {
  return {
    memory: makeGroup("memory/a/b", "tasks", "memory.kmem.tcp.limit_in_bytes"),
    pids: makeGroup("pids/a", "tasks"),
    cpu: makeGroup("cpu", "tasks"),
    freezer: makeGroup("freezer", "tasks"),
  };
}

describe("control groups of version 1", () => {
  it("are below the process's own group in each hierarchy, and one folder for controllers that share it", () => {
    const { memory, pids, cpu, freezer } = makeAll();
    expect(find({ mounts: ALL, groups: GROUPS })).toEqual({
      bases: [
        { kind: "memory", path: memory },
        { kind: "pids", path: pids },
        { kind: "cpu", path: cpu },
        { kind: "freezer", path: freezer },
      ],
      limits: ["memoryBytes", "pids", "cpus"],
      freezer: true,
      countsTime: true,
      kernelMemory: "counted",
    });
  });

  it("have the controller of the used time in a folder of its own, if that is mounted apart", () => {
    makeGroup("cpu", "tasks");
    const cpuacct = makeGroup("cpuacct", "tasks");
    const { bases, limits, countsTime } = find({ mounts: { cpu: "rw,cpu", cpuacct: "rw,cpuacct" }, groups: ["2:cpuacct:/", "1:cpu:/"] });
    expect(bases.map(({ kind }) => kind)).toEqual(["cpu", "cpuacct"]);
    expect(bases[1]?.path).toBe(cpuacct);
    expect(limits).toEqual(["cpus"]);
    expect(countsTime).toBe(true);
  });

  it("are looked for below the part that is mounted, as in a container", () => {
    const pids = makeGroup("pids", "tasks");
    const deeper = makeGroup("pids/inner", "tasks");
    const mounts = { pids: "rw,pids" };
    expect(find({ mounts, groups: ["8:pids:/docker/x"], mounted: "/docker/x" }).bases).toEqual([{ kind: "pids", path: pids }]);
    expect(find({ mounts, groups: ["8:pids:/docker/x/inner"], mounted: "/docker/x" }).bases).toEqual([{ kind: "pids", path: deeper }]);
    expect(find({ mounts, groups: ["8:pids:/inner"], mounted: "/docker/x" }).bases).toEqual([{ kind: "pids", path: deeper }]);
  });

  it("are left out where Belljar cannot use them, with their limits", () => {
    makeGroup("pids", "tasks");
    makeGroup("memory");
    const found = find({ mounts: { ...ALL, cpu: "rw,cpuset" }, groups: ["8:pids:/", "4:memory:/", "1:cpu:/"] });
    expect(found).toMatchObject({ limits: ["pids"], freezer: false, kernelMemory: "uncounted" });
    expect(found.bases.map(({ kind }) => kind)).toEqual(["pids"]);
  });

  it("come before those of version 2, which may be mounted beside them", () => {
    makeGroup("pids", "tasks");
    expect(find({ mounts: { unified: "*", pids: "rw,pids" }, groups: ["8:pids:/", "0::/"] }).bases.map(({ kind }) => kind)).toEqual([
      "pids",
    ]);
  });
});

describe("what the kernel holds for a sandbox", () => {
  const machine = { mounts: ALL, groups: GROUPS };

  it.each([
    ["quiet cgroup.memory=nokmem", "uncounted"],
    ["cgroup.memory=nosocket,nokmem quiet", "uncounted"],
    ["cgroup.memory=nosocket", "without-sockets"],
    ["cgroup.memory=none", "counted"],
    ["nokmem nosocket", "counted"],
  ])("with the kernel's parameters %j is %s", (commandLine, kernelMemory) => {
    makeAll();
    expect(find({ ...machine, commandLine }).kernelMemory).toBe(kernelMemory);
  });

  it("is counted without the queues of sockets where they have no limit", () => {
    makeGroup("memory/a/b", "tasks");
    expect(find(machine).kernelMemory).toBe("without-sockets");
  });
});

describe("without usable control groups", () => {
  const nothing = { bases: [], limits: [], freezer: false, countsTime: false, kernelMemory: "uncounted" };

  it("says that none are mounted", () => {
    for (const machine of [{}, { groups: ["0::/"] }, { mounts: { unified: "*" } }])
      expect(find(machine)).toEqual({ ...nothing, problem: "no control groups are mounted" });
  });

  it("says that none is delegated, and leaves the process where it is", () => {
    mkdirSync(join(root, "unified/a"), { recursive: true });
    writeFileSync(join(root, "unified/a/cgroup.controllers"), "hugetlb\n");
    writeFileSync(join(root, "unified/a/cgroup.procs"), `${process.pid}\n`);
    expect(find({ mounts: { unified: "*" }, groups: ["0::/a"] })).toEqual({
      ...nothing,
      problem: expect.stringMatching(/^no control group is delegated to this user/) as string,
    });
  });
});
