import { availableParallelism, freemem, loadavg, totalmem } from "node:os";

/** Of the memory, this part stays free for sandboxes in use. */
const FREE_PART = 0.15;
/** Tasks that want to run, for each core. */
const LOAD_MAX = 1.5;

/** Whether the host has CPU and memory to spare for a sandbox that nobody asked for. */
export function canHostSpare(): boolean {
  const [load = 0] = loadavg();
  return load <= availableParallelism() * LOAD_MAX && freemem() >= totalmem() * FREE_PART;
}
