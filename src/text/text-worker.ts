import { BelljarError } from "../errors.ts";
import { JOBS } from "./jobs.ts";
import type { WorkerAnswer, WorkerRequest } from "./worker-process.ts";

/** The program of a worker process. It answers one request after the other, until its parent ends it. */
process.on("message", (request: WorkerRequest) => process.send?.(answer(request)));

// A signal to the whole group (Ctrl-C) is for the parent, which ends its workers when it ends.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);

function answer({ job, input }: WorkerRequest): WorkerAnswer {
  try {
    const work = JOBS[job as keyof typeof JOBS] as (input: unknown) => unknown;
    return { value: work(input) };
  } catch (error) {
    if (error instanceof BelljarError) return { code: error.code, message: error.message };
    return { fault: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}
