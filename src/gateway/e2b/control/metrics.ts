import { availableParallelism, totalmem } from "node:os";
import * as z from "zod";
import type { Sandbox, SandboxInfo } from "../../../sandbox/sandbox.ts";

/** One look at a sandbox, as E2B's clients read it. Bytes. */
export const metricSchema = z.object({
  timestamp: z.iso.datetime(),
  timestampUnix: z.int(),
  cpuCount: z.int(),
  cpuUsedPct: z.number().describe("On average since the look before this one, or since it was made. 100 is one core"),
  memUsed: z.int(),
  memTotal: z.int(),
  memCache: z.int().describe("Always 0: it is a part of memUsed"),
  diskUsed: z.int(),
  diskTotal: z.int(),
});

export type Metric = z.output<typeof metricSchema>;

const DISK_MS = 5_000;
/** Sandboxes whose last look is remembered. */
const LOOKS_MAX = 10_000;

interface Look {
  readonly atMs: number;
  readonly cpuUs: number;
}

/** Looks at sandboxes that run. Nothing is stored: there is a sample of now, and none of earlier times. */
export class MetricLooks {
  readonly #looks = new Map<string, Look>();

  async of(sandbox: Sandbox, info: SandboxInfo): Promise<Metric> {
    const [{ memoryBytes, cpuUs }, disk] = await Promise.all([sandbox.usage(), diskOf(sandbox)]);
    const now = new Date();
    return {
      timestamp: now.toISOString(),
      timestampUnix: Math.floor(now.getTime() / 1_000),
      cpuCount: Math.max(1, Math.ceil(info.limits.cpus ?? availableParallelism())),
      cpuUsedPct: this.#share(info, { atMs: now.getTime(), cpuUs }),
      memUsed: Math.round(memoryBytes),
      memTotal: Math.round(info.limits.memoryBytes ?? totalmem()),
      memCache: 0,
      diskUsed: disk.used,
      diskTotal: info.limits.diskBytes ?? disk.total,
    };
  }

  #share({ id, createdAt }: SandboxInfo, look: Look): number {
    const before = this.#looks.get(id);
    const isUsable = before !== undefined && before.cpuUs <= look.cpuUs && before.atMs < look.atMs;
    const since = isUsable ? before : { atMs: createdAt.getTime(), cpuUs: 0 };
    this.#looks.delete(id);
    this.#looks.set(id, look);
    const [oldest] = this.#looks.keys();
    if (this.#looks.size > LOOKS_MAX && oldest !== undefined) this.#looks.delete(oldest);
    const elapsedUs = Math.max(1, look.atMs - since.atMs) * 1_000;
    return Math.round(((look.cpuUs - since.cpuUs) / elapsedUs) * 10_000) / 100;
  }
}

interface Disk {
  readonly used: number;
  readonly total: number;
}

/** As a program inside sees its root. A sandbox that does not say it in time has no figures of its disk. */
async function diskOf({ guest }: Sandbox): Promise<Disk> {
  const argv = ["/usr/bin/stat", "--file-system", "--format=%S %b %f", "/"];
  const asked = await guest.run({ argv, signal: AbortSignal.timeout(DISK_MS), maxOutputBytes: 200 }).catch(() => undefined);
  const [, size = "", blocks = "", free = ""] = /^(\d{1,9}) (\d{1,15}) (\d{1,15})\s*$/.exec(asked?.stdout.toString("latin1") ?? "") ?? [];
  const bytes = (count: string): number => Math.min(Number.MAX_SAFE_INTEGER, Number(size) * Number(count));
  return { used: Math.max(0, bytes(blocks) - bytes(free)), total: bytes(blocks) };
}
