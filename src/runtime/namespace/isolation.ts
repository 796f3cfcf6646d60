import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { createGuest } from "../guest/create-guest.ts";
import type { Isolation, IsolationCheck, Runtime } from "../contract/runtime.ts";
import type { Limits } from "../contract/sandbox-spec.ts";
import { DEFAULT_BASE } from "../contract/sandbox-spec.ts";
import type { NamespaceHost } from "./namespace-host.ts";

/** On a slow machine, the first trial also builds the template. */
const TRIAL_MS = 60_000;
const TRIAL_LIMITS: Limits = { memoryBytes: 64 * 1024 * 1024, pids: 16, diskBytes: 1024 * 1024, openFiles: 64 };

/** What this host enforces, by building a sandbox and looking at it from inside. Never rejects: what fails is told. */
export async function probeIsolation(host: NamespaceHost, runtime: Runtime): Promise<Isolation> {
  const facts = {
    runtime: "namespace",
    limits: host.limits,
    users: host.idMap.kind === "single" ? "one" : "two",
    terminals: true,
    pause: host.cgroups.freezer,
    sleep: host.cgroups.freezer && host.cgroups.countsTime,
    stop: true,
    states: host.storage.kind === "btrfs" ? "clone" : "copy",
  } as const;
  try {
    const seen = await lookInside(runtime, host.options.home);
    return { ...facts, available: true, checks: [...kernelChecks(seen), ...hostChecks(host)] };
  } catch (cause) {
    return { ...facts, available: false, limits: [], checks: [unavailable(cause)] };
  }
}

/** What holds because of how this host is set up, and its user. */
export function hostChecks(host: CheckedHost): readonly IsolationCheck[] {
  return [
    idCheck(host),
    deviceCheck(host),
    ...limitChecks(host),
    kernelMemoryCheck(host),
    storageCheck(host),
    checkpointCheck(host),
    pauseCheck(host),
  ];
}

type CheckedHost = Pick<NamespaceHost, "idMap" | "limits"> & {
  readonly cgroups: Omit<NamespaceHost["cgroups"], "bases">;
  readonly storage: Pick<NamespaceHost["storage"], "kind" | "detail">;
};

/** The message names the step that the host refused; `belljar doctor` adds what on this host stands in its way. */
function unavailable(cause: unknown): IsolationCheck {
  return { id: "namespaces", state: "absent", detail: cause instanceof Error ? cause.message : String(cause) };
}

/** Of /proc/self/status, /proc/net/dev and /proc inside. */
export interface Seen {
  readonly status: string;
  readonly interfaces: readonly string[];
  readonly coreDumpPattern: boolean;
  /** A folder of the template was removed and made anew. */
  readonly replacesFolders: boolean;
}

/** Below the home, as every sandbox: the file system of the host's temporary folder may not take layers where the home's does. */
async function lookInside(runtime: Runtime, home: string): Promise<Seen> {
  const signal = AbortSignal.timeout(TRIAL_MS);
  const folder = await mkdtemp(join(home, "probe-"));
  try {
    const id = [...randomBytes(20)].map((byte) => (byte % 36).toString(36)).join("");
    const spec = {
      id,
      generation: 1,
      folder,
      base: DEFAULT_BASE,
      inside: await runtime.layers.describe(DEFAULT_BASE),
      hostname: "probe",
      limits: TRIAL_LIMITS,
      required: [],
      ephemeral: true,
    } as const;
    await using sandbox = await runtime.create(spec, signal);
    const guest = createGuest((opened) => sandbox.connect(opened), { env: sandbox.env, ended: sandbox.ended });
    const read = async (path: string): Promise<string> => (await guest.run({ argv: ["cat", path], signal })).stdout.toString();
    const opened = await guest.run({ argv: ["sh", "-c", ": >> /proc/sys/kernel/core_pattern"], user: "root", signal });
    const replaced = await guest.run({ argv: ["sh", "-c", "rmdir /srv && mkdir /srv && mkdir /srv/new"], user: "root", signal });
    return {
      replacesFolders: replaced.exitCode === 0,
      status: await read("/proc/self/status"),
      interfaces: interfacesOf(await read("/proc/net/dev")),
      coreDumpPattern: opened.exitCode === 0,
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function interfacesOf(text: string): readonly string[] {
  return text.split("\n").flatMap((line) => (line.includes(":") ? [line.slice(0, line.indexOf(":")).trim()] : []));
}

export function kernelChecks({ status, interfaces, coreDumpPattern, replacesFolders }: Seen): readonly IsolationCheck[] {
  return [
    check("namespaces", true, "Own user, mount, PID, network, IPC, UTS and cgroup namespaces, and an own root file system"),
    check("seccomp", /^Seccomp:\s*2$/m.test(status), "System calls pass a filter that lists what is allowed"),
    check("no-new-privileges", /^NoNewPrivs:\s*1$/m.test(status), "Set-uid programs and file capabilities do nothing"),
    check("network", interfaces.length === 1 && interfaces[0] === "lo", "No network but the sandbox's own loopback"),
    check(
      "file-system",
      replacesFolders,
      "Every file and folder that a sandbox sees, but Belljar's own programs, can be changed, and only its own copy is",
    ),
    check("kernel-settings", !coreDumpPattern, "The kernel's settings cannot be written"),
  ];
}

function check(id: string, isEnforced: boolean, detail: string): IsolationCheck {
  return { id, state: isEnforced ? "enforced" : "absent", detail };
}

function idCheck({ idMap }: CheckedHost): IsolationCheck {
  switch (idMap.kind) {
    case "slot":
      return {
        id: "ids",
        state: "enforced",
        detail: "Each sandbox runs under 65,536 host ids of its own; nothing in it is the host's root",
      };
    case "subids":
      return { id: "ids", state: "enforced", detail: "Root and user inside are two ids, from the range that /etc/subuid gives this user" };
    case "single":
      return {
        id: "ids",
        state: "partial",
        detail: "Root and user inside are one id, this user's",
        remedy:
          "sudo apt-get install uidmap, and a line in /etc/subuid and /etc/subgid (sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 $USER)",
      };
  }
}

/** Only root of the host can make nodes that work. */
function deviceCheck({ idMap }: CheckedHost): IsolationCheck {
  if (idMap.kind === "slot") return { id: "devices", state: "enforced", detail: "Each sandbox has device nodes of its own" };
  return {
    id: "devices",
    state: "partial",
    detail: "/dev/null and its like are the host's: a lock or a watch on them is seen by this user's other sandboxes and by the host",
    remedy: "Run Belljar as root",
  };
}

const LIMIT_NAMES: Readonly<Record<keyof Limits, string>> = {
  memoryBytes: "memory",
  cpus: "cpu",
  pids: "processes",
  diskBytes: "disk",
  openFiles: "open-files",
};

const CGROUP_REMEDY =
  "Run Belljar as root, or in a delegated control group: systemd-run --user --scope -p Delegate=yes belljar serve (needs a host with control groups v2 alone, and no other process in the scope: no shell, no npm)";

function limitChecks({ limits, cgroups }: CheckedHost): readonly IsolationCheck[] {
  return (Object.keys(LIMIT_NAMES) as (keyof Limits)[])
    .filter((limit) => limit !== "diskBytes")
    .map((limit) => {
      const id = `${LIMIT_NAMES[limit]}-limit`;
      if (limits.includes(limit)) return { id, state: "enforced", detail: `A sandbox cannot pass its limit of ${LIMIT_NAMES[limit]}` };
      return {
        id,
        state: "absent",
        detail: `No limit on ${LIMIT_NAMES[limit]}: ${cgroups.problem ?? "the host has no such control group"}`,
        remedy: CGROUP_REMEDY,
      };
    });
}

/** Reported beside the limit on memory, which it belongs to: what a program makes the kernel hold is not the program's own memory. */
function kernelMemoryCheck({ cgroups }: CheckedHost): IsolationCheck {
  const id = "kernel-memory";
  switch (cgroups.kernelMemory) {
    case "counted":
      return { id, state: "enforced", detail: "What the kernel holds for a sandbox has a limit, the queues of TCP and UDP included" };
    case "without-sockets":
      return {
        id,
        state: "partial",
        detail: "The queues of a sandbox's sockets have no limit",
        remedy: "Boot without cgroup.memory=nosocket, on a kernel that counts them (memory.kmem.tcp.limit_in_bytes, or control groups v2)",
      };
    case "uncounted":
      return {
        id,
        state: "absent",
        detail: "What the kernel holds for a sandbox (sockets, pipes, watches, tables) has no limit",
        remedy: cgroups.limits.includes("memoryBytes") ? "Boot without cgroup.memory=nokmem" : CGROUP_REMEDY,
      };
  }
}

const POOL_REMEDY = "As root with btrfs-progs installed, sandboxes write to a pool on disk instead";

function storageCheck({ storage, limits }: CheckedHost): IsolationCheck {
  const detail = `Sandboxes write to ${storage.detail}`;
  if (!limits.includes("diskBytes")) return { id: "disk-limit", state: "absent", detail, remedy: "Set storage to auto" };
  if (storage.kind === "btrfs") return { id: "disk-limit", state: "enforced", detail };
  return {
    id: "disk-limit",
    state: "enforced",
    detail,
    remedy: POOL_REMEDY,
  };
}

/** Where the layers are no subvolumes, a program that is alive has its files in the mounts that would have to go. */
function checkpointCheck({ storage }: CheckedHost): IsolationCheck {
  const id = "checkpoints";
  if (storage.kind === "btrfs")
    return { id, state: "enforced", detail: "Checkpoints and snapshots take the same time for any number of files, whatever runs" };
  return {
    id,
    state: "partial",
    detail:
      "A checkpoint takes the same time for any number of files while no program is alive in the sandbox; otherwise, and for each snapshot, what the sandbox wrote is copied, as it lies on no btrfs pool",
    remedy: POOL_REMEDY,
  };
}

function pauseCheck({ cgroups }: CheckedHost): IsolationCheck {
  const id = "pause";
  if (!cgroups.freezer)
    return { id, state: "absent", detail: "Sandboxes cannot be frozen: pauseIdleMs has no effect", remedy: CGROUP_REMEDY };
  if (cgroups.countsTime) return { id, state: "enforced", detail: "Sandboxes can be frozen, by themselves too when they are idle" };
  const detail = "Sandboxes can be frozen. Nobody counts the time of their programs, so pauseIdleMs has no effect";
  return { id, state: "partial", detail, remedy: "Mount the control group cpuacct" };
}
