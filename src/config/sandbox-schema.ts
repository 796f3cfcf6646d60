import * as z from "zod";
import { cpus, flag, integer, limit, policy, size, sizeLimit, time } from "./config-fields.ts";
import { MIB, GIB, HOUR_MS, DAY_MS } from "./units.ts";

/** One-shot programs. */
export function programSchema() {
  return z
    .strictObject({
      timeoutMs: time(1, 30 * DAY_MS)
        .default(50_000)
        .describe("Maximum run time of a one-shot program"),
      memoryBytes: sizeLimit(16 * MIB)
        .default(256 * MIB)
        .describe("Maximum memory of a one-shot program"),
      cpus: cpus().default(0.5).describe("Maximum CPU cores of a one-shot program; fractions are allowed"),
      pids: limit(8).default(64).describe("Maximum number of processes and threads of a one-shot program"),
      diskBytes: sizeLimit(MIB)
        .default(256 * MIB)
        .describe("Maximum disk space of a one-shot program"),
      openFiles: limit(64).default(1024).describe("Maximum number of open files of each process of a one-shot program"),
      network: policy().default("none").describe("Network policy of a one-shot program: none, all, or comma-separated rules"),
    })
    .prefault({});
}

/** Sandboxes that stay. */
export function sandboxSchema(hostCpus: number) {
  return z
    .strictObject({
      timeoutMs: time(1, 3650 * DAY_MS)
        .default(HOUR_MS)
        .describe("Lifetime of a sandbox that nobody extends"),
      keep: time(0, 3650 * DAY_MS)
        .default(7 * DAY_MS)
        .describe(
          "How long a sandbox is kept after its deadline stopped it, or after it ended unasked. Then it is removed with its files. 0: default sandboxes are deleted at their deadline. A sandbox that somebody stopped is kept until somebody deletes it",
        ),
      keepBytes: size(0)
        .default(20 * GIB)
        .describe("Maximum size on disk of all these sandboxes together. Beyond it the ones stopped first are removed early"),
      keepMemoryBytes: size(0)
        .default(4 * GIB)
        .describe("The same for files in memory"),
      pauseIdleMs: time(0, 3650 * DAY_MS)
        .refine((ms) => ms === 0 || ms >= 1000, "must be at least 1s, or 0")
        .default(0)
        .describe(
          "Idle time after which a sandbox is paused. The next call, or request to one of its ports, wakes it. 0: never. Has no effect where sandboxes cannot be frozen",
        ),
      memoryBytes: sizeLimit(16 * MIB)
        .default(2 * GIB)
        .describe("Maximum memory of a sandbox"),
      cpus: cpus().default(Math.min(2, hostCpus)).describe("Maximum CPU cores of a sandbox; fractions are allowed"),
      pids: limit(8).default(512).describe("Maximum number of processes and threads of a sandbox"),
      diskBytes: sizeLimit(MIB)
        .default(4 * GIB)
        .describe("Maximum disk space of a sandbox"),
      openFiles: limit(64).default(4096).describe("Maximum number of open files of each process of a sandbox"),
      root: flag()
        .default(true)
        .describe(
          "Allow commands in a sandbox to run as root, by their user or by sudo. False holds for all new sandboxes, whatever their makers ask",
        ),
      autoCheckpoint: z
        .enum(["auto", "per_call", "off"])
        .default("auto")
        .describe(
          "Checkpoints before tool calls, so that `belljar rewind` can take calls back. auto: before each call that may write, where a checkpoint takes the same time for any number of files. per_call: also where files are copied. off: none",
        ),
      autoCheckpointKeep: integer(1, 500)
        .default(20)
        .describe(
          "Number of earlier calls of a sandbox whose checkpoints are kept, and up to a quarter more until they are removed together. Checkpoints that somebody asked for do not count",
        ),
      nestedFilters: flag()
        .default(false)
        .describe(
          "Allow programs in a sandbox to install seccomp filters of their own. The kernel counts these filters against one limit for the whole machine",
        ),
      network: policy()
        .default("none")
        .describe(
          "Network policy of a sandbox that was created without one: none, all, or comma-separated rules such as npm,github,api.example.com. Tools cannot give a sandbox more than this",
        ),
    })
    .prefault({});
}
