import { existsSync } from "node:fs";
import { mkdir, readFile, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { findCgroups } from "../../src/runtime/namespace/cgroups.ts";
import { keeperOf } from "../support/home-traces.ts";
import { runName, runOf } from "../support/run-of.ts";
import { inEachIdMap } from "./support/id-maps.ts";
import type { Box, BoxOptions } from "./support/lab.ts";
import { useLab } from "./support/lab.ts";
import { outside } from "./support/outside.ts";
import { verifies } from "./verifies.ts";

const lab = useLab(["forkers", "hog"]);
const MEBIBYTE = 1 << 20;
const LIMITS = { memoryBytes: 64 * MEBIBYTE, cpus: 1.5, pids: 48 } as const;
const NONE = "this host gives the user no control groups (scripts/vm.mjs runs these tests in a machine with those of version 2)";
const signal = (): AbortSignal => AbortSignal.timeout(120_000);
const bases = findCgroups().bases;

/** The groups of one sandbox. */
const groupsOf = ({ running }: Box): readonly string[] => bases.map(({ path }) => join(path, runName(running.id)));

/** What a program finds and changes of the groups, for each way that works. */
const REACH = `
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
points = [line.split()[4] for line in open("/proc/self/mountinfo") if " - cgroup" in line]
for point in points + ["/sys/fs/cgroup"]:
  if os.path.exists(point + "/cgroup.procs") or os.path.exists(point + "/tasks"): print("sees")
for name in ("cgroup", "cgroup2"):
  os.makedirs("/tmp/point", exist_ok=True)
  if libc.mount(b"none", b"/tmp/point", name.encode(), 0, b"memory" if name == "cgroup" else None) == 0:
    libc.umount2(b"/tmp/point", 2); print("mounts")
pid = os.fork()
if pid == 0:
  if libc.unshare(0x02000000) == 0: print("leaves", flush=True)
  os._exit(0)
os.waitpid(pid, 0)
for process in os.listdir("/proc"):
  try:
    for line in open("/proc/%s/cgroup" % process):
      if not line.strip().endswith(":/"): print("names a group"); break
  except OSError: pass
  try: libc.setns(os.open("/proc/%s/ns/cgroup" % process, os.O_RDONLY), 0x02000000) == 0 and process == "1" and print("joins")
  except OSError: pass
`;

const reach = (text: string): readonly string[] => [...new Set(text.split("\n").filter((line) => line !== ""))];

verifies("groups-unreached", async ({ skip }) => {
  skip(bases.length === 0, NONE);
  expect(reach((await outside(["python3", "-c", REACH])).out)).toEqual(expect.arrayContaining(["sees"]));
  for (const { path } of bases) {
    await mkdir(join(path, "shown"));
    await rmdir(join(path, "shown"));
  }
  await inEachIdMap(lab, async (box, kind) => {
    for (const user of ["root", "user"])
      expect({ kind, user, ...(await box.run(["python3", "-c", REACH], { user })) }).toEqual({ kind, user, code: 0, out: "", err: "" });
    await expectMembers(box);
  });
});

/** The guest is in the group with its programs, and the keeper, which must outlive them, is not. */
async function expectMembers(box: Box): Promise<void> {
  const keeper = keeperOf(box.folder);
  for (const group of groupsOf(box)) {
    const members = (await readFile(join(group, "cgroup.procs"), "utf8")).trim().split("\n").map(Number);
    expect(members.length).toBeGreaterThan(0);
    expect(members).not.toContain(keeper);
  }
}

async function startForkers(box: Box): Promise<AsyncDisposable> {
  const forkers = await box.install("forkers");
  const running = await box.guest.exec({ argv: [forkers, "12"], signal: signal() });
  running.exited.catch(() => undefined);
  running.stderr.resume();
  await new Promise((resolve) => running.stdout.once("data", resolve));
  return running;
}

const openBusy = (options: BoxOptions = {}): Promise<Box> => lab.box({ limits: LIMITS, ephemeral: false, ...options });

function expectGone(box: Box): void {
  for (const group of groupsOf(box)) expect({ group, isThere: existsSync(group) }).toEqual({ group, isThere: false });
}

/** What the kernel says of the sandbox's freezer. */
async function isFrozen(box: Box): Promise<boolean> {
  const states = groupsOf(box).flatMap((group) => [join(group, "cgroup.events"), join(group, "freezer.state")]);
  const texts = await Promise.all(states.filter((file) => existsSync(file)).map((file) => readFile(file, "utf8")));
  return texts.some((text) => text.includes("frozen 1") || text.trim() === "FROZEN");
}

verifies("pause-stops-all", async ({ skip }) => {
  skip(!lab.isolation.pause, NONE);
  await using box = await openBusy();
  await using _forkers = await startForkers(box);
  for (let round = 0; round < 10; round++) {
    await box.running.pause();
    expect(await isFrozen(box)).toBe(true);
    const before = (await box.running.usage()).cpuUs;
    expect((await box.running.usage()).cpuUs).toBe(before);
    await box.running.resume();
    expect((await box.run(["echo", "alive"])).out).toBe("alive\n");
  }
});

verifies("nothing-survives", async ({ skip }) => {
  skip(bases.length === 0, NONE);
  for (let round = 0; round < 8; round++) {
    const paused = lab.isolation.pause && round % 2 === 0;
    await using box = await openBusy();
    await startForkers(box);
    if (paused) await box.running.pause();
    expect((await box.running.kill("killed")).reason).toBe("killed");
    expectGone(box);
  }
});

verifies("keeper-death-ends-all", async ({ skip }) => {
  skip(bases.length === 0, NONE);
  for (let round = 0; round < 8; round++) {
    const paused = lab.isolation.pause && round % 2 === 0;
    await using box = await openBusy();
    await startForkers(box);
    if (paused) await box.running.pause();
    process.kill(keeperOf(box.folder), "SIGKILL");
    expect((await box.running.ended).reason).toBe("keeper_lost");
    expect(await lab.runtime.clear(runOf(box.running.id, box.folder))).toMatchObject({ reason: "keeper_lost" });
    expectGone(box);
  }
});

/** A program fills the memory while others fork: the kernel kills in the group, and never who keeps it. */
verifies("memory-bounded", async ({ skip }) => {
  skip(!lab.isolation.limits.includes("memoryBytes"), "this host gives the user no limit on memory");
  expect((await outside([lab.attack("hog"), "192"])).out).toBe("held\n");
  await using box = await openBusy({ required: ["memoryBytes"] });
  const hog = await box.install("hog");
  await using _forkers = await startForkers(box);
  for (let round = 0; round < 4; round++) {
    const ended = await box.run([hog, "192"], { timeoutMs: 60_000, signal: signal() });
    expect(ended.out).toBe("");
    expect((await box.run(["echo", "alive"], { signal: signal() })).out).toBe("alive\n");
  }
  expect((await box.running.usage()).oomKills).toBeGreaterThan(0);
  await box.running.kill("killed");
  expectGone(box);
});

/** Of version 2 each limit is a file of the sandbox's group. Swap is no way around the limit on memory. */
verifies("limits-hold-or-refuse", async ({ skip }) => {
  const [base] = bases;
  if (base?.kind !== "v2") return skip("the control groups of this host are of version 1; scripts/vm.mjs has a machine with version 2");
  const names = { memoryBytes: ["memory.max", "memory.swap.max"], pids: ["pids.max"], cpus: ["cpu.max"] };
  await using box = await lab.box({ limits: LIMITS, required: lab.isolation.limits.filter((limit) => limit in LIMITS) });
  const [group = ""] = groupsOf(box);
  for (const limit of lab.isolation.limits.filter((one) => one in names))
    for (const name of names[limit as keyof typeof names])
      expect({ name, value: await readFile(join(group, name), "utf8") }).toEqual({
        name,
        value: expect.stringMatching(VALUES[name] ?? /^$/),
      });
  return undefined;
});

const VALUES: Readonly<Record<string, RegExp>> = {
  "memory.max": /^71303168\n$/,
  "memory.swap.max": /^0\n$/,
  "pids.max": /^64\n$/,
  "cpu.max": /^150000 100000\n$/,
};
