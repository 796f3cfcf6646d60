import { readdirSync, readFileSync } from "node:fs";

/** Every process of a fake sandbox carries this variable, and its children inherit it. */
export const MARK = "BELLJAR_FAKE_SANDBOX";
const TICKS_PER_SECOND = 100;
const PAGE_BYTES = 4_096;

export interface ProcessRow {
  readonly pid: number;
  readonly ppid: number;
  readonly pgid: number;
  readonly sid: number;
  readonly memoryBytes: number;
  readonly cpuUs: number;
  readonly startedMs: number;
  readonly argv: readonly Buffer[];
}

/** The living processes that carry the mark of `id`. */
export function findProcesses(id: string): ProcessRow[] {
  const mark = Buffer.from(`${MARK}=${id}\0`);
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => processRow(Number(name), mark) ?? []);
}

function processRow(pid: number, mark: Buffer): ProcessRow | undefined {
  try {
    if (!readFileSync(`/proc/${pid}/environ`).includes(mark)) return undefined;
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const columns = stat
      .slice(stat.lastIndexOf(")") + 2)
      .split(" ")
      .map(Number);
    const [, ppid = 0, pgid = 0, sid = 0] = columns;
    const ticks = (columns[11] ?? 0) + (columns[12] ?? 0);
    return {
      pid,
      ppid,
      pgid,
      sid,
      memoryBytes: (columns[21] ?? 0) * PAGE_BYTES,
      cpuUs: (ticks * 1_000_000) / TICKS_PER_SECOND,
      startedMs: Math.round(bootMs() + ((columns[19] ?? 0) * 1_000) / TICKS_PER_SECOND),
      argv: splitNul(readFileSync(`/proc/${pid}/cmdline`)),
    };
  } catch {
    // It ended while it was looked at, or belongs to somebody else.
    return undefined;
  }
}

function bootMs(): number {
  return Date.now() - Number.parseFloat(readFileSync("/proc/uptime", "latin1")) * 1_000;
}

function splitNul(bytes: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  for (let at = 0, end = bytes.indexOf(0); end >= 0; at = end + 1, end = bytes.indexOf(0, at)) parts.push(bytes.subarray(at, end));
  return parts;
}

/** A process or group (negative) that is gone already needs no signal. */
export function signalIfPresent(pid: number, signal: number | NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}
