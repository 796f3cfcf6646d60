import { createContext, Script } from "node:vm";

/** Of its time limit work that was cut short has had the processor, or the machine is to blame and not the work. */
const OWN_PART = 0.5;
const TRIES = 2;

/**
 * `ran`: to its end. `tooLong`: it was cut short. `stalled`: it was cut short, and so was another try, and in both together this
 * process had the processor for less than half of the limit: a busy machine may be the cause.
 */
export type Outcome = "ran" | "tooLong" | "stalled";

/** Cuts work short that never returns, such as a regular expression that backtracks. Nothing else can do that on the one thread. */
export interface TimeLimit {
  /** The work may be done twice. Throws what it throws. */
  run(work: () => void, timeoutMs: number): Outcome;
}

/** `usedMs`: the time of the processor that this process has had. */
export function createTimeLimit(usedMs: () => number = processorMs): TimeLimit {
  const context: { work: () => void } = { work: () => undefined };
  const script = new Script("work()");
  createContext(context);
  const ran = (timeoutMs: number): boolean => {
    try {
      script.runInContext(context, { timeout: timeoutMs });
      return true;
    } catch (error) {
      if ((error as { readonly code?: unknown } | undefined)?.code === "ERR_SCRIPT_EXECUTION_TIMEOUT") return false;
      throw error;
    }
  };
  return {
    run(work, timeoutMs) {
      context.work = work;
      try {
        const before = usedMs();
        for (let turn = 0; turn < TRIES; turn += 1) {
          if (ran(timeoutMs)) return "ran";
          if (usedMs() - before >= timeoutMs * OWN_PART) return "tooLong";
        }
        return "stalled";
      } finally {
        context.work = () => undefined;
      }
    },
  };
}

function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
