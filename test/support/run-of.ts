import { join } from "node:path";
import type { RecordedRun } from "../../src/runtime/contract/run.ts";

/** What a test shows inside that does not ask the runtime. */
export const INSIDE = { env: {}, home: "/home/user", workspace: "/home/user", cwd: "/home/user" } as const;

/** What a sandbox shows whose workspace is at `/workspace`. */
export const WITH_WORKSPACE = { ...INSIDE, workspace: "/workspace", cwd: "/workspace" } as const;

export function runOf(id: string, folder: string, generation = 1): RecordedRun {
  return { id, generation, folder, inside: INSIDE };
}

/** The folder of one run: its lock, and its end. */
export function runFolder(folder: string, generation = 1): string {
  return join(folder, "runs", String(generation));
}

/** The name of a run's sockets and control groups. */
export function runName(id: string, generation = 1): string {
  return `${id}-${generation}`;
}
