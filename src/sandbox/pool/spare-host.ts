import { availableParallelism, freemem, loadavg, totalmem } from "node:os";

/** Of the memory, this part stays free for sandboxes in use. */
const FREE_PART = 0.15;
/** Tasks that want to run, for each core. */
const LOAD_MAX = 1.5;

/** What the host has left for sandboxes that nobody asked for: enough, little CPU, or too little memory. */
export type HostRoom = "free" | "busy" | "full";

export function roomOfHost(): HostRoom {
  if (freemem() < totalmem() * FREE_PART) return "full";
  const [load = 0] = loadavg();
  return load > availableParallelism() * LOAD_MAX ? "busy" : "free";
}
