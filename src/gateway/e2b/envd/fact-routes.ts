import { cpus } from "node:os";
import * as z from "zod";
import type { Sandbox } from "../../../sandbox/sandbox.ts";
import { DOOR } from "../../auth/access.ts";
import type { Route } from "../../routes/route.ts";
import { defineRoute } from "../../routes/route.ts";
import type { SandboxAdmission } from "../admit-sandbox.ts";
import { sandboxVariables } from "./process/process-streams.ts";

const MIB = 1_048_576;
const ASKED_MS = 5_000;

const metricsSchema = z.object({
  ts: z.number().int().describe("Unix time in seconds"),
  cpu_count: z.number().int(),
  cpu_used_pct: z.number().describe("Of one processor, since this was asked before; at first since the sandbox began"),
  mem_total: z.number().int(),
  mem_used: z.number().int(),
  mem_cache: z.number().int(),
  mem_total_mib: z.number().int(),
  mem_used_mib: z.number().int(),
  disk_used: z.number().int(),
  disk_total: z.number().int(),
});

/** What E2B's program in a sandbox tells of the sandbox. */
export function factRoutes(admission: SandboxAdmission): readonly Route[] {
  const clocks = new WeakMap<Sandbox, CpuClock>();
  return [
    defineRoute({
      method: "GET",
      path: "/envs",
      access: DOOR,
      summary: "The variables of every process in the sandbox",
      answers: { 200: z.record(z.string(), z.string()) },
      async handle({ request }) {
        const sandbox = admission.of(request);
        return { ...sandboxVariables(sandbox), ...(await sandbox.environment()) };
      },
    }),
    defineRoute({
      method: "GET",
      path: "/metrics",
      access: DOOR,
      summary: "What the sandbox uses now",
      answers: { 200: metricsSchema },
      async handle({ request }) {
        const sandbox = admission.of(request);
        const clock = clocks.get(sandbox) ?? new CpuClock();
        clocks.set(sandbox, clock);
        return readMetrics(sandbox, clock);
      },
    }),
  ];
}

async function readMetrics(sandbox: Sandbox, clock: CpuClock): Promise<z.output<typeof metricsSchema>> {
  const [usage, inside, { limits }] = await Promise.all([
    sandbox.usage(),
    sandbox.guest.usage(AbortSignal.timeout(ASKED_MS)),
    sandbox.info(),
  ]);
  const total = limits.memoryBytes ?? usage.memoryBytes;
  return {
    ts: Math.floor(Date.now() / 1_000),
    cpu_count: Math.max(1, Math.round(limits.cpus ?? cpus().length)),
    cpu_used_pct: clock.percent(usage.cpuUs, inside.uptimeMs),
    mem_total: total,
    mem_used: usage.memoryBytes,
    mem_cache: 0,
    mem_total_mib: Math.round(total / MIB),
    mem_used_mib: Math.round(usage.memoryBytes / MIB),
    disk_used: inside.diskUsedBytes,
    disk_total: inside.diskTotalBytes,
  };
}

/** Turns a sum of processor time into its use since the last look. */
class CpuClock {
  #cpuUs = 0;
  #uptimeMs = 0;

  percent(cpuUs: number, uptimeMs: number): number {
    const usedMs = Math.max(0, cpuUs - this.#cpuUs) / 1_000;
    const passedMs = uptimeMs - this.#uptimeMs;
    this.#cpuUs = cpuUs;
    this.#uptimeMs = uptimeMs;
    return passedMs <= 0 ? 0 : Math.round((10_000 * usedMs) / passedMs) / 100;
  }
}
