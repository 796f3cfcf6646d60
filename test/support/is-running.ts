import { execFileSync } from "node:child_process";

/** Whether a process runs. One that has ended, and that nobody has waited for, does not. */
export function isRunning(pid: number): boolean {
  try {
    return !execFileSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" })
      .trim()
      .startsWith("Z");
  } catch {
    return false;
  }
}
