import { availableParallelism, cpus, release, totalmem } from "node:os";

/** What the figures depend on. Says nothing of paths, names or people. */
export function describeMachine() {
  return {
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 1024 ** 3),
    kernel: release(),
    node: process.version,
  };
}
