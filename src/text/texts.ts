import type { JOBS } from "./jobs.ts";
import type { WorkerCall } from "./worker-pool.ts";
import { WorkerPool } from "./worker-pool.ts";

type Jobs = typeof JOBS;

/** Edits, patches and diffs of untrusted texts. Worker processes do the work. Disposing it ends them. */
export interface Texts extends Disposable {
  /** Starts a process for a job that comes soon. */
  prepare(): void;
  /** Rejects with the job's error, with `FILE_TOO_LARGE` if the job takes too much time or memory, or with the signal's reason. */
  run<Name extends keyof Jobs>(job: Name, request: Parameters<Jobs[Name]>[0], call: WorkerCall): Promise<ReturnType<Jobs[Name]>>;
}

const SIZE = 2;
const TIMEOUT_MS = 20_000;
const IDLE_MS = 60_000;
const MEMORY_MB = 160;

/** `program` is the path of the built worker, `dist/workers/text-worker.js`. */
export function createTexts(program: string): Texts {
  const pool = new WorkerPool({ program, size: SIZE, timeoutMs: TIMEOUT_MS, idleMs: IDLE_MS, memoryMb: MEMORY_MB });
  return {
    prepare: () => pool.prepare(),
    async run(job, input, call) {
      // The worker runs only the job of that name, so its answer has that job's type.
      return (await pool.run({ job, input }, call)) as ReturnType<Jobs[typeof job]>;
    },
    [Symbol.dispose]: () => pool[Symbol.dispose](),
  };
}
