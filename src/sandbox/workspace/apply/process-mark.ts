import { readFileSync } from "node:fs";
import { errnoOf } from "../../../files/file-error.ts";

/** Of the machine. */
let boot: string | undefined;

/** Names a process for good: its number, and since when it has it. */
export async function markProcess(pid: number = process.pid): Promise<string | undefined> {
  if (process.platform !== "linux") return isAlive(pid) ? String(pid) : undefined;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    boot ??= readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    const startedAt = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
    return `${pid} ${startedAt} ${boot}`;
  } catch (cause) {
    if (errnoOf(cause) === "ENOENT" || errnoOf(cause) === "ESRCH") return undefined;
    throw cause;
  }
}

export async function isProcessAlive(mark: string): Promise<boolean> {
  return (await markProcess(Number.parseInt(mark, 10))) === mark;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (cause) {
    return errnoOf(cause) === "EPERM";
  }
}
