import { existsSync, readFileSync } from "node:fs";
import type { IsolationCheck } from "../runtime.ts";

interface Obstacle {
  readonly stands: () => boolean;
  readonly detail: string;
  readonly remedy: string;
}

/** What is known to forbid sandboxes, most telling first. */
const OBSTACLES: readonly Obstacle[] = [
  {
    stands: () => isNotRoot() && setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") === "1",
    detail: "AppArmor forbids user namespaces to ordinary users (Ubuntu 23.10 and later)",
    remedy:
      "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0 (keep it in /etc/sysctl.d/60-belljar.conf), or run Belljar as root",
  },
  {
    stands: () => isNotRoot() && setting("/proc/sys/kernel/unprivileged_userns_clone") === "0",
    detail: "The kernel forbids user namespaces to ordinary users",
    remedy: "sudo sysctl -w kernel.unprivileged_userns_clone=1 (keep it in /etc/sysctl.d/60-belljar.conf), or run Belljar as root",
  },
  {
    stands: () => setting("/proc/sys/user/max_user_namespaces") === "0",
    detail: "The kernel allows no user namespaces at all",
    remedy: "sudo sysctl -w user.max_user_namespaces=65536 (keep it in /etc/sysctl.d/60-belljar.conf)",
  },
  {
    stands: isContainer,
    detail: "Belljar runs in a container that forbids namespaces or mounts",
    remedy:
      "docker run --privileged ..., or --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined --cap-add SYS_ADMIN; or run Belljar on the host",
  },
];

/** Names what stands in the way of a sandbox, and the exact remedy. */
export function findObstacle(cause: unknown): IsolationCheck {
  const found = OBSTACLES.find(({ stands }) => stands());
  const reason = cause instanceof Error ? cause.message : String(cause);
  if (!found)
    return {
      id: "namespaces",
      state: "absent",
      detail: reason,
      remedy: "Build with `npm run build`, then run `belljar doctor` again; the message names the step that the kernel refused",
    };
  return { id: "namespaces", state: "absent", detail: `${found.detail}. ${reason}`, remedy: found.remedy };
}

function isNotRoot(): boolean {
  return process.getuid?.() !== 0;
}

function setting(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, "utf8").trim() : undefined;
}

function isContainer(): boolean {
  return (
    existsSync("/.dockerenv") ||
    existsSync("/run/.containerenv") ||
    (existsSync("/proc/1/cgroup") && /docker|kubepods|lxc/.test(readFileSync("/proc/1/cgroup", "utf8")))
  );
}
