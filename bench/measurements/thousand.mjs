import { readFileSync } from "node:fs";
import { freemem } from "node:os";
import { availableMemory, inParallel, MIB, NEVER, childrenOf, isRoot, keepers, pssOf, scaled, summarise, time } from "../harness.mjs";

const COUNT = scaled(1000);
const EDGE = 50;
const KEEP_FREE = 4096 * MIB;
const SMALL = { limits: { memoryBytes: 64 * MIB, diskBytes: 16 * MIB, pids: 32 }, bestEffort: true };

/** Nothing but the sandboxes themselves: no pool. */
export const storage = "tmpfs";

/** One sandbox after the other, all kept: is the last as quick to make as the first, do all answer, what do they take? */
export async function measure(home) {
  await (await home.create(SMALL)).kill();
  const before = availableMemory();
  const { sandboxes, times } = await fill(home);
  if (sandboxes.length < COUNT)
    console.error(`Stopped at ${sandboxes.length} sandboxes: less than ${KEEP_FREE / MIB} MiB of memory is free`);
  const took = (before - availableMemory()) / MIB;
  const memory = isRoot ? [totalMemory(home, sandboxes.length, took)] : [];
  await inParallel(sandboxes, ({ guest }) => guest.run({ argv: ["/bin/true"], signal: NEVER }));
  await inParallel(sandboxes, (sandbox) => sandbox.kill());
  return [
    {
      what: `create, the last ${EDGE} of ${sandboxes.length} live sandboxes`,
      goal: 1.5,
      beside: `the first ${EDGE}`,
      measured: summarise(times.slice(-EDGE)),
      reference: summarise(times.slice(0, EDGE)),
      note: "all answered an exec afterwards",
    },
    ...memory,
  ];
}

async function fill(home) {
  const [sandboxes, times] = [[], []];
  while (sandboxes.length < COUNT && freeEnough()) {
    times.push(await time(async () => void sandboxes.push(await home.create(SMALL))));
  }
  return { sandboxes, times };
}

const freeEnough = () => freemem() > KEEP_FREE;

/** The larger of what the host lost and what can be counted: the kernel charges much of a sandbox to nobody's group. */
function totalMemory(home, count, took) {
  const outside = keepers(home);
  const guests = childrenOf(outside);
  const pss = [...outside, ...guests].reduce((sum, pid) => sum + pssOf(pid), 0) / MIB;
  const kernel = guests.reduce((sum, pid) => sum + kernelMemoryOf(pid), 0) / MIB;
  const total = Math.max(took, pss + kernel);
  const note = `PSS ${pss.toFixed(0)} MiB, kernel memory of the groups ${kernel.toFixed(0)} MiB; the host's available memory fell by ${took.toFixed(0)} MiB`;
  return { what: `memory of ${count} live sandboxes`, unit: "MiB", measured: summarise([total]), most: 1.2 * 1024, note };
}

function kernelMemoryOf(pid) {
  const group = /^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(.*)$/m.exec(readFileSync(`/proc/${pid}/cgroup`, "utf8"))?.[1];
  return group === undefined ? 0 : Number(readFileSync(`/sys/fs/cgroup/memory${group}/memory.kmem.usage_in_bytes`, "utf8"));
}
