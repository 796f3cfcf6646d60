import type { Fields } from "../../protocol/fields.ts";
import { FLAG, OPERATION } from "../../protocol/wire.ts";
import { BelljarError } from "../../errors.ts";
import { call, collectRows } from "./call.ts";
import type { GuestUsage, ProcessInfo } from "./guest.ts";
import type { Link } from "./link.ts";
import { assertSignal } from "./signals.ts";

export async function listProcesses(link: Link, signal: AbortSignal): Promise<readonly ProcessInfo[]> {
  return (await collectRows(link, OPERATION.PROCESSES, [], signal)).map(processInfo);
}

function processInfo(fields: Fields): ProcessInfo {
  return {
    pid: fields.needNumber("PID"),
    ppid: fields.needNumber("PPID"),
    pgid: fields.needNumber("PGID"),
    sid: fields.needNumber("SID"),
    uid: fields.needNumber("UID"),
    memoryBytes: fields.needNumber("MEMORY"),
    cpuUs: fields.needNumber("CPU_US"),
    startedAt: new Date(fields.needNumber("STARTED_MS")),
    argv: fields.all("ARG").map(String),
  };
}

export async function signalProcess(
  link: Link,
  pid: number,
  signalNumber: number,
  options: { readonly group?: boolean; readonly signal: AbortSignal },
): Promise<void> {
  assertSignal(signalNumber);
  const fields = [
    ["PID", pid],
    ["SIGNAL", signalNumber],
    ["FLAGS", options.group ? FLAG.WHOLE_GROUP : undefined],
  ] as const;
  await call(link, OPERATION.SIGNAL_PROCESS, fields, options.signal);
}

export async function guestUsage(link: Link, signal: AbortSignal): Promise<GuestUsage> {
  const fields = await call(link, OPERATION.USAGE, [], signal);
  return {
    processes: fields.needNumber("PROCESSES_COUNT"),
    memoryBytes: fields.needNumber("MEMORY"),
    diskUsedBytes: fields.needNumber("DISK_USED"),
    diskTotalBytes: fields.needNumber("DISK_TOTAL"),
    // A guest that was started by an older version does not say it.
    isDiskFull: fields.number("DISK_FULL") === 1,
    uptimeMs: fields.needNumber("UPTIME_MS"),
  };
}

/** If the sandbox ends before its reply is read, the shutdown has succeeded. */
export async function shutdown(link: Link, graceMs: number, signal: AbortSignal): Promise<void> {
  try {
    await call(link, OPERATION.SHUTDOWN, [["TIMEOUT_MS", graceMs]], signal);
  } catch (error) {
    if (!(error instanceof BelljarError && error.code === "SANDBOX_ENDED")) throw error;
  }
}
