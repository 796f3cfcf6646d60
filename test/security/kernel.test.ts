import { chmod, copyFile, rm } from "node:fs/promises";
import { expect } from "vitest";
import { expectRefused } from "./support/calls.ts";
import { useLab } from "./support/lab.ts";
import { isRoot, newMark, outside, processesOf, statusOf } from "./support/outside.ts";
import { verifies } from "./verifies.ts";

const lab = useLab(["call", "identity", "foreign"]);

verifies("no-host-root", async () => {
  await using box = await lab.box();
  const mark = newMark();
  for (const user of ["root", "user"]) {
    await using sleeper = await box.guest.exec({ argv: ["sleep", mark], user, stdin: false, signal: AbortSignal.timeout(30_000) });
    const [pid = 0] = await processesOf(mark);
    expect(pid).toBeGreaterThan(0);
    const ids = (await statusOf(pid, "Uid")).split("\t").concat((await statusOf(pid, "Gid")).split("\t"));
    expect(ids).not.toContain("0");
    sleeper.kill(9);
    await sleeper.exited;
  }
});

verifies("kernel-settings-closed", async () => {
  await using box = await lab.box();
  await expectRefused(lab, box, ["core-pattern", "modprobe-path"]);
  const { out } = await box.run(["python3", "-c", OPEN_SETTINGS], { user: "root" });
  expect(out).toMatch(/^[1-9]\d\d+ settings, open: \[\]\n$/);
});

/** Opening for writing changes nothing by itself. */
const OPEN_SETTINGS = `
import os
paths = [os.path.join(folder, name) for folder, _, names in os.walk("/proc/sys") for name in names]
opened = []
for path in paths:
  try:
    os.close(os.open(path, os.O_WRONLY))
    opened.append(path)
  except OSError: pass
print(f"{len(paths)} settings, open: {opened}")
`;

verifies("no-new-privileges", async () => {
  expect((await outside(["grep", "-E", "^(NoNewPrivs|Seccomp):", "/proc/self/status"])).out).not.toMatch(
    /NoNewPrivs:\s*1[\s\S]*Seccomp:\s*2/,
  );
  if (isRoot) await expectSetuidWorksOutside();
  await using box = await lab.box();
  const identity = await box.install("identity");
  expect(await box.run(["bash", "-c", `cp ${identity} /home/identity && chmod 4755 /home/identity`], { user: "root" })).toMatchObject({
    code: 0,
  });
  const uid = (await box.run(["id", "-u"], { user: "user" })).out;
  expect((await box.run(["/home/identity"], { user: "user" })).out).toBe(uid);
  for (const user of ["root", "user"]) {
    const { out } = await box.run(["grep", "-E", "^(NoNewPrivs|Seccomp|CapBnd):", "/proc/self/status"], { user });
    expect(out).toMatch(/NoNewPrivs:\s*1/);
    expect(out).toMatch(/Seccomp:\s*2/);
    expect(capabilities(out) & DANGEROUS).toBe(0n);
  }
});

/** NET_ADMIN 12, NET_RAW 13, SYS_MODULE 16, SYS_RAWIO 17, SYS_PTRACE 19, SYS_ADMIN 21, SYS_BOOT 22, SYS_TIME 25, MKNOD 27, MAC 32 33, SYSLOG 34, PERFMON 38, BPF 39. */
const DANGEROUS = [12, 13, 16, 17, 19, 21, 22, 25, 27, 32, 33, 34, 38, 39].reduce((mask, bit) => mask | (1n << BigInt(bit)), 0n);

function capabilities(status: string): bigint {
  return BigInt(`0x${/CapBnd:\s*([0-9a-f]+)/.exec(status)?.[1] ?? "ffffffffffffffff"}`);
}

async function expectSetuidWorksOutside(): Promise<void> {
  const program = "/usr/local/bin/belljar-identity-test";
  await copyFile(lab.attack("identity"), program);
  try {
    await chmod(program, 0o4755);
    expect((await outside([program], { uid: 65534 })).out).toBe("0\n");
  } finally {
    await rm(program);
  }
}

/** A limit of one byte is the kernel's own word for "no pipe handler either"; any other limit, none included, starts it. Nothing here may set core_pattern. */
verifies("no-crash-handlers", async () => {
  const limits = ["prlimit", "--core", "--raw", "--noheadings", "--output", "SOFT,HARD"];
  expect((await outside(limits)).out.trim()).not.toMatch(/^1\s+1$/);
  await using box = await lab.box();
  for (const user of ["root", "user"]) {
    expect((await box.run(limits, { user })).out.trim()).toMatch(/^1\s+1$/);
    expect((await box.run(["prlimit", "--core=0:unlimited", "true"], { user })).code).not.toBe(0);
  }
});

verifies("no-mounts", async () => {
  await using box = await lab.box();
  await expectRefused(lab, box, ["mount", "remount", "umount", "pivot-root", "open-tree", "move-mount", "fsopen", "mount-setattr"]);
});

verifies("no-new-namespaces", async () => {
  await using box = await lab.box();
  await expectRefused(lab, box, ["unshare-user", "unshare-mount", "unshare-net", "clone-user", "clone-pid", "clone3-user", "setns"]);
  // The guest's children may enter a user namespace, so the filter lets that pass.
  expect((await outside(["python3", "-c", JOIN, "child"])).out).toContain("joins\n");
  for (const argv of [["python3"], ["sudo", "python3"]]) {
    const { out } = await box.run([...argv, "-c", JOIN]);
    expect(out).toMatch(/^own EINVAL$/m);
    expect(out).toMatch(/^parent EPERM$/m);
    expect(out).not.toContain("joins");
  }
});

/** Tries every user namespace that a program can open: its own, the one above, and those of all processes. With "child", that of its child. */
const JOIN = `
import ctypes, errno, fcntl, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def join(name, file):
  if libc.setns(file, 0x10000000) == 0: print("joins")
  else: print(name, errno.errorcode[ctypes.get_errno()])
def open_of(process): return os.open("/proc/%s/ns/user" % process, os.O_RDONLY)
def start_child():
  (ready, told), (life, end) = os.pipe(), os.pipe()
  child = os.fork()
  if child == 0:
    os.close(end)
    libc.unshare(0x10000000)
    os.write(told, b"x")
    os.read(life, 1)
    os._exit(0)
  os.read(ready, 1)
  return child
if sys.argv[1:] == ["child"]: join("child", open_of(start_child()))
else:
  own = open_of("self")
  join("own", own)
  try: join("above", fcntl.ioctl(own, 0xb702))
  except OSError as error: print("parent", errno.errorcode[error.errno])
  for process in filter(str.isdigit, os.listdir("/proc")):
    try: file = open_of(process)
    except OSError: continue
    if os.fstat(file).st_ino != os.fstat(own).st_ino: join(process, file)
`;

verifies("no-kernel-doors", async () => {
  await using box = await lab.box();
  const rings = ["io-uring-setup", "keyctl", "add-key", "request-key", "bpf", "perf-event-open", "userfaultfd"];
  await expectRefused(lab, box, [...rings, "kexec-load", "init-module", "delete-module", "open-by-handle"]);
});

verifies("no-machine-control", async () => {
  await using box = await lab.box();
  await expectRefused(lab, box, [
    "syslog",
    "swapon",
    "quotactl",
    "settimeofday",
    "sethostname",
    "reboot",
    "vhangup",
    "kmsg",
    "sysrq-trigger",
  ]);
});

verifies("no-device-nodes", async () => {
  await using box = await lab.box();
  await expectRefused(lab, box, ["mknod-mem", "mknod-disk", "dev-kmsg", "dev-mem"]);
  const list = 'find /dev -not -path "/dev/pts/*" | while read -r f; do if [ -c "$f" ] || [ -b "$f" ]; then echo "${f#/dev/}"; fi; done';
  const { out } = await box.run(["bash", "-c", list], { user: "root" });
  const harmless = ["full", "null", "ptmx", "pts", "random", "tty", "urandom", "zero"];
  const found = out.trim().split("\n");
  expect(found).toContain("null");
  expect(found.filter((name) => !harmless.includes(name))).toEqual([]);
});

verifies("no-terminal-injection", async () => {
  await using box = await lab.box();
  await expectRefused(lab, box, ["tiocsti", "tiocsti-high-bits", "tioclinux"]);
});

verifies("one-architecture", async ({ skip }) => {
  skip(process.arch !== "x64", "the attack is a program of 32-bit x86");
  expect((await outside([lab.attack("foreign")])).out).toBe("reached\n");
  await using box = await lab.box();
  const foreign = await box.install("foreign");
  for (const user of ["root", "user"]) expect(await box.run([foreign], { user })).toMatchObject({ code: undefined, out: "" });
});

/** What of /proc may be read inside beside the processes, and why: what a newer kernel adds is not here. */
const PROC_ROWS: Readonly<Record<string, string>> = {
  cgroups: "which controllers there are",
  cpuinfo: "programs choose their instructions",
  filesystems: "kinds of file systems",
  loadavg: "programs share the machine's processors, and may know it",
  meminfo: "run-times size their heaps",
  stat: "processors and their time",
  swaps: "free and psutil",
  uptime: "start times of processes",
  version: "as uname",
  vmstat: "vmstat and psutil",
};
/** Links to what is the process's own, and the kernel's settings, of which kernel-settings-closed speaks. */
const PROC_OTHERS = ["mounts", "net", "self", "sys", "thread-self"];

/** Prints what of /proc has content or can be written, and is no process. */
const WALK_PROC = `
import os
def is_open(path):
  if os.path.isdir(path): return len(os.listdir(path)) > 0
  try:
    with open(path, "rb", buffering=0) as file:
      os.set_blocking(file.fileno(), False)
      if file.read(1): return True
  except OSError: pass
  try: os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
  except OSError: return False
  return True
for name in sorted(os.listdir("/proc")):
  if not name.isdigit() and is_open("/proc/" + name): print(name)
`;

verifies("proc-masked", async () => {
  await using box = await lab.box();
  await expectRefused(lab, box, ["kcore", "proc-keys", "timer-list", "sys", "cgroup-release-agent"]);
  const allowed = [...Object.keys(PROC_ROWS), ...PROC_OTHERS].toSorted();
  expect((await outside(["sh", "-c", "cat /proc/cmdline /proc/diskstats /proc/interrupts"])).out).not.toBe("");
  for (const user of ["root", "user"])
    expect((await box.run(["python3", "-c", WALK_PROC], { user })).out.trim().split("\n")).toEqual(allowed);
  const changed = await box.run(["sh", "-c", "echo x > /proc/cmdline; touch /proc/irq/x; rm /proc/cmdline; chmod 777 /proc/cmdline"], {
    user: "root",
  });
  expect(changed.err.trim().split("\n")).toHaveLength(4);
  expect((await box.run(["cat", "/proc/cmdline"])).out).toBe("");
  const mounts = (await box.run(["cat", "/proc/self/mountinfo"])).out.trim().split("\n").map(parseMount);
  const [covers, others] = [true, false].map((isCover) => mounts.filter(({ point }) => /^\/proc\/(?!sys$)./.test(point) === isCover));
  const systems = new Set(covers?.map(({ system }) => system));
  expect(systems.size).toBe(1);
  expect(others?.filter(({ system }) => systems.has(system))).toEqual([]);
  expect(new Set(covers?.map(({ content, options }) => `${content} ${/^ro\b/.exec(options)?.[0]}`))).toEqual(
    new Set(["/file ro", "/folder ro"]),
  );
});

/** See proc_pid_mountinfo(5). The last column has the options of the file system itself. */
function parseMount(row: string) {
  const [, , system = "", content = "", point = ""] = row.split(" ");
  return { system, content, point, options: row.split(" ").at(-1) ?? "" };
}
