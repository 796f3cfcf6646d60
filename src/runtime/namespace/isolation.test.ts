import { describe, expect, it } from "vitest";
import { hostChecks, kernelChecks } from "./isolation.ts";

type Host = Parameters<typeof hostChecks>[0];
type Seen = Parameters<typeof kernelChecks>[0];

const ALL_LIMITS = ["memoryBytes", "cpus", "pids", "diskBytes", "openFiles"] as const;
const BEST: Host = {
  idMap: { kind: "slot" },
  limits: ALL_LIMITS,
  cgroups: { limits: ["memoryBytes", "pids", "cpus"], freezer: true, countsTime: true, kernelMemory: "counted" },
  storage: { kind: "btrfs", detail: "a pool" },
};
const SUBIDS = { kind: "subids", subuid: 1, subgid: 1, newuidmap: "", newgidmap: "" } as const;

const sound: Seen = {
  status: "Name:\tcat\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\n",
  interfaces: ["lo"],
  coreDumpPattern: false,
  replacesFolders: true,
};

function notEnforced(checks: ReturnType<typeof hostChecks>): Readonly<Record<string, string>> {
  return Object.fromEntries(checks.flatMap(({ id, state }) => (state === "enforced" ? [] : [[id, state]])));
}

const ofHost = (part: Partial<Host>) => hostChecks({ ...BEST, ...part });

it("a host that has everything enforces everything, and has nothing to mend", () => {
  const checks = [...kernelChecks(sound), ...ofHost({})];
  expect(checks.map(({ id }) => id)).toEqual([
    "namespaces",
    "seccomp",
    "no-new-privileges",
    "network",
    "file-system",
    "kernel-settings",
    "ids",
    "devices",
    "memory-limit",
    "cpu-limit",
    "processes-limit",
    "open-files-limit",
    "kernel-memory",
    "disk-limit",
    "checkpoints",
    "pause",
  ]);
  expect(notEnforced(checks)).toEqual({});
  expect(checks.filter(({ detail, remedy }) => detail === "" || remedy !== undefined)).toEqual([]);
});

describe("a sandbox that shows from inside", () => {
  it.each<[string, Partial<Seen>, string]>([
    ["no filter of system calls", { status: sound.status.replace("Seccomp:\t2", "Seccomp:\t0") }, "seccomp"],
    ["privileges that programs can get", { status: sound.status.replace("NoNewPrivs:\t1", "NoNewPrivs:\t0") }, "no-new-privileges"],
    ["another network", { interfaces: ["lo", "eth0"] }, "network"],
    ["no loopback", { interfaces: ["eth0"] }, "network"],
    ["no network at all", { interfaces: [] }, "network"],
    ["folders that cannot be replaced", { replacesFolders: false }, "file-system"],
    ["settings that can be written", { coreDumpPattern: true }, "kernel-settings"],
  ])("%s", (_, seen, id) => {
    expect(notEnforced(kernelChecks({ ...sound, ...seen }))).toEqual({ [id]: "absent" });
  });
});

describe("a host with", () => {
  it("ids of a user gives a sandbox two, and no devices of its own", () => {
    expect(notEnforced(ofHost({ idMap: SUBIDS }))).toEqual({ devices: "partial" });
  });

  it("one id says which packages and files give more", () => {
    const checks = ofHost({ idMap: { kind: "single" } });
    expect(notEnforced(checks)).toEqual({ ids: "partial", devices: "partial" });
    expect(checks.find(({ id }) => id === "ids")?.remedy).toContain("/etc/subuid");
    expect(checks.find(({ id }) => id === "devices")?.remedy).toBe("Run Belljar as root");
  });

  it.each([
    ["memoryBytes", "memory-limit"],
    ["cpus", "cpu-limit"],
    ["pids", "processes-limit"],
    ["openFiles", "open-files-limit"],
    ["diskBytes", "disk-limit"],
  ] as const)("no limit on %s says so, and what to do", (limit, id) => {
    const checks = ofHost({ limits: ALL_LIMITS.filter((one) => one !== limit) });
    expect(notEnforced(checks)).toEqual({ [id]: "absent" });
    expect(checks.find((check) => check.id === id)?.remedy).toMatch(/^(?:Run Belljar as root|Set storage to auto)/);
  });

  it("control groups that cannot be used says why", () => {
    const told = (problem?: string) =>
      ofHost({
        limits: [],
        cgroups: { limits: [], freezer: false, countsTime: false, kernelMemory: "uncounted", ...(problem && { problem }) },
      });
    const details = (problem?: string) => told(problem).find(({ id }) => id === "cpu-limit")?.detail;
    expect(details("none is delegated")).toBe("No limit on cpu: none is delegated");
    expect(details()).toBe("No limit on cpu: the host has no such control group");
  });

  it.each([
    ["without-sockets", ["memoryBytes"], "partial", /nosocket/],
    ["uncounted", ["memoryBytes"], "absent", /^Boot without cgroup.memory=nokmem$/],
    ["uncounted", [], "absent", /^Run Belljar as root/],
  ] as const)("kernel memory that is %s, and limits on %j", (kernelMemory, limits, state, remedy) => {
    const checks = ofHost({ cgroups: { limits, freezer: true, countsTime: true, kernelMemory } });
    expect(notEnforced(checks)).toEqual({ "kernel-memory": state });
    expect(checks.find(({ id }) => id === "kernel-memory")?.remedy).toMatch(remedy);
  });

  it("no pool still holds the disk, and says where a pool would come from", () => {
    const checks = ofHost({ storage: { kind: "tmpfs", detail: "memory" } });
    expect(notEnforced(checks)).toEqual({ checkpoints: "partial" });
    expect(checks.find(({ id }) => id === "disk-limit")).toMatchObject({
      detail: "Sandboxes write to memory",
      remedy: expect.stringContaining("btrfs-progs") as string,
    });
  });

  it.each(["tmpfs", "home"] as const)("storage %s says which checkpoints are copies, and why", (kind) => {
    const checks = ofHost({ storage: { kind, detail: "elsewhere" } });
    expect(checks.find(({ id }) => id === "checkpoints")).toMatchObject({
      state: "partial",
      detail: expect.stringMatching(/no program is alive.*copied, as it lies on no btrfs pool/) as string,
    });
  });

  it("no freezer cannot pause", () => {
    expect(notEnforced(ofHost({ cgroups: { ...BEST.cgroups, freezer: false } }))).toEqual({ pause: "absent" });
  });

  it("no count of the processor's time pauses no idle sandbox", () => {
    expect(notEnforced(ofHost({ cgroups: { ...BEST.cgroups, countsTime: false } }))).toEqual({ pause: "partial" });
  });
});
