import type { JOBS } from "./jobs.ts";
import type { WorkerCall } from "./worker-pool.ts";
import { WorkerPool } from "./worker-pool.ts";

type Jobs = typeof JOBS;

/** Edits, patches and diffs of texts that somebody else wrote. The work is done by processes of its own; disposing it ends them. */
export interface Texts extends Disposable {
  /** Rejects as the job throws, with `FILE_TOO_LARGE` when it takes too much time or memory, and with the signal's reason. */
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
    async run(job, input, call) {
      // The worker runs the job of that name alone, so its answer is that job's.
      return (await pool.run({ job, input }, call)) as ReturnType<Jobs[typeof job]>;
    },
    [Symbol.dispose]: () => pool[Symbol.dispose](),
  };
}
