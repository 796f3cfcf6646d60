import { createContext, Script } from "node:vm";

/** Cuts work short that never returns, such as a regular expression that backtracks. Nothing else can do that on the one thread. */
export interface TimeLimit {
  /** Returns false if the work was cut short. Throws what the work throws. */
  ran(work: () => void, timeoutMs: number): boolean;
}

export function createTimeLimit(): TimeLimit {
  const context: { work: () => void } = { work: () => undefined };
  const script = new Script("work()");
  createContext(context);
  return {
    ran(work, timeoutMs) {
      context.work = work;
      try {
        script.runInContext(context, { timeout: timeoutMs });
        return true;
      } catch (error) {
        if ((error as { readonly code?: unknown } | undefined)?.code === "ERR_SCRIPT_EXECUTION_TIMEOUT") return false;
        throw error;
      } finally {
        context.work = () => undefined;
      }
    },
  };
}
