import { setTimeout as wait } from "node:timers/promises";
import { mapLimit } from "../../async/map-limit.ts";
import { BelljarError } from "../../errors.ts";
import { listAll } from "../../sandbox/list-sandboxes.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import type { SandboxInfo, Sandboxes } from "../../sandbox/sandbox.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet } from "../command.ts";
import { openStack } from "../compose/open-stack.ts";
import { formatBytes, printJson, printTable } from "../print.ts";

const EVERY_MS = 1000;
const TOGETHER = 8;
const HEADING = ["ID", "NAME", "CPU", "MEMORY", "PROCESSES", "DISK"];
const CLEAR = "\u001B[H\u001B[J";

/** What one sandbox uses at a moment. Absent: it does not say. */
interface Sample {
  readonly info: SandboxInfo;
  readonly atMs: number;
  readonly cpuUs: number;
  readonly memoryBytes: number;
  /** Of a paused one: before the pause. */
  readonly memoryAwakeBytes?: number | undefined;
  readonly processes: number;
  readonly disk?: { readonly diskUsedBytes: number; readonly diskTotalBytes: number };
}

interface Reading extends Sample {
  /** Cores, on average since the sample before. */
  readonly cpus: number;
}

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const { stdout, signal } = context;
  const isLive = stdout.isTTY === true && !isSet(call, "no-stream") && !isSet(call, "json");
  await using stack = await openStack(call, context);
  let before = await takeSamples(stack.sandboxes, call.positionals, signal);
  do {
    await wait(EVERY_MS, undefined, { signal });
    const samples = await takeSamples(stack.sandboxes, call.positionals, signal);
    const readings = samples.map((sample) =>
      toReading(
        sample,
        before.find(({ info }) => info.id === sample.info.id),
      ),
    );
    if (isSet(call, "json")) printJson(stdout, readings.map(toJson));
    else {
      if (isLive) stdout.write(CLEAR);
      printTable(stdout, readings.map(toRow), HEADING);
    }
    before = samples;
  } while (isLive);
  return 0;
}

/** Of the named sandboxes, or of all that have processes. One that ends meanwhile is left out. */
async function takeSamples(sandboxes: Sandboxes, named: readonly string[], signal: AbortSignal): Promise<readonly Sample[]> {
  const infos: SandboxInfo[] = [];
  for (const name of named) infos.push(await sandboxes.info(LOCAL, name));
  if (named.length === 0) for await (const info of listAll(sandboxes, LOCAL, { state: ["running", "paused"] })) infos.push(info);
  const samples = await mapLimit(infos, TOGETHER, (info) => takeSample(sandboxes, info, { signal, isNamed: named.length > 0 }));
  return samples.filter((sample) => sample !== undefined);
}

async function takeSample(
  sandboxes: Sandboxes,
  info: SandboxInfo,
  { signal, isNamed }: { readonly signal: AbortSignal; readonly isNamed: boolean },
): Promise<Sample | undefined> {
  try {
    const sandbox = await sandboxes.get(LOCAL, info.id);
    const { cpuUs, memoryBytes, memoryAwakeBytes, processes, phase } = await sandbox.usage();
    const atMs = performance.now();
    // A question to its guest would wake it.
    const inside = phase === "running" ? await sandbox.guest.usage(signal) : undefined;
    const disk = inside && { diskUsedBytes: inside.diskUsedBytes, diskTotalBytes: inside.diskTotalBytes };
    return { info, atMs, cpuUs, memoryBytes, memoryAwakeBytes, processes, ...(disk && { disk }) };
  } catch (error) {
    if (isNamed || signal.aborted || !(error instanceof BelljarError)) throw error;
    return undefined;
  }
}

function toReading(sample: Sample, before: Sample | undefined): Reading {
  const us = before ? (sample.atMs - before.atMs) * 1000 : 0;
  return { ...sample, cpus: before && us > 0 ? Math.max(0, (sample.cpuUs - before.cpuUs) / us) : 0 };
}

function toRow({ info, cpus, memoryBytes, memoryAwakeBytes, processes, disk }: Reading): readonly string[] {
  const of = (limit: number | undefined): string => (limit === undefined ? "" : ` / ${formatBytes(limit)}`);
  const awake = memoryAwakeBytes === undefined ? "" : ` (${formatBytes(memoryAwakeBytes)} awake)`;
  return [
    info.id,
    info.name ?? "-",
    `${(cpus * 100).toFixed(1)} %`,
    `${formatBytes(memoryBytes)}${awake}${of(info.limits.memoryBytes)}`,
    `${processes}${info.limits.pids === undefined ? "" : ` / ${info.limits.pids}`}`,
    disk ? `${formatBytes(disk.diskUsedBytes)} / ${formatBytes(disk.diskTotalBytes)}` : "-",
  ];
}

function toJson({ info, cpus, cpuUs, memoryBytes, memoryAwakeBytes, processes, disk }: Reading) {
  const { id, name, limits } = info;
  return {
    id,
    ...(name !== undefined && { name }),
    cpus: Math.round(cpus * 1000) / 1000,
    cpuUs,
    memoryBytes,
    memoryAwakeBytes,
    processes,
    ...disk,
    limits,
  };
}
