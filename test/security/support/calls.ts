import { expect } from "vitest";
import { isRoot, outside } from "./outside.ts";
import type { Box, Lab } from "./lab.ts";

/** Calls that only the host's own root can make at all: an ordinary user's server shows them refused outside too. */
const ROOT_ONLY = new Set([
  "setns",
  "syslog",
  "swapon",
  "settimeofday",
  "sethostname",
  "mknod-mem",
  "mknod-disk",
  "vhangup",
  "core-pattern",
  "kmsg",
  "dev-kmsg",
  "timer-list",
  "open-by-handle",
]);

/** Doors that many kernels do not have; where they are missing there is nothing to show outside. */
const OFTEN_MISSING = new Set([
  "kexec-load",
  "init-module",
  "delete-module",
  "modprobe-path",
  "sysrq-trigger",
  "dev-mem",
  "kcore",
  "perf-event-open",
  "userfaultfd",
  "io-uring-setup",
]);

/**
 * Each call reaches the kernel outside, from plain namespaces at the latest, and is refused inside: to root, to the user, and to sudo.
 * A mount namespace of its own keeps the host as it is while the attack is shown.
 */
export async function expectRefused(lab: Lab, box: Box, names: readonly string[]): Promise<void> {
  const reached = await reachedOutside(lab.attack("call"), names);
  const shown = names.filter((name) => !OFTEN_MISSING.has(name) && (isRoot || !ROOT_ONLY.has(name)));
  expect(shown.filter((name) => !reached.has(name))).toEqual([]);
  const call = await box.install("call");
  const ways = [
    { way: "root", user: "root", before: [] },
    { way: "user", user: "user", before: [] },
    { way: "sudo", user: "user", before: ["sudo"] },
  ];
  for (const { way, user, before } of ways) {
    const { out } = await box.run([...before, call, ...names], { user });
    const lines = out.trim().split("\n");
    expect({ way, lines: lines.length }).toEqual({ way, lines: names.length });
    expect({ way, reached: lines.filter((line) => line.endsWith(" reached")) }).toEqual({ way, reached: [] });
  }
}

async function reachedOutside(call: string, names: readonly string[]): Promise<ReadonlySet<string>> {
  const asRoot = ["unshare", "--user", "--map-root-user", "--mount", "--net", "--ipc", "--pid", "--fork", "--mount-proc", "--kill-child"];
  const plain = isRoot ? ["unshare", "--mount"] : [];
  const runs = await Promise.all([outside([...plain, call, ...names]), outside([...asRoot, call, ...names])]);
  const lines = runs.flatMap(({ out }) => out.split("\n"));
  return new Set(lines.filter((line) => line.endsWith(" reached")).map((line) => line.split(" ")[0] ?? ""));
}
