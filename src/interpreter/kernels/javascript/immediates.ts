import timers from "node:timers";
import { promisify } from "node:util";

type Immediate = typeof setImmediate;

/**
 * A callback of `setImmediate` that is broken off from outside leaves Node's list of them half done, and Node loops on it for ever.
 * So each runs as a step that is broken off by an error, of which Node knows what to do.
 */
export function breakImmediates(breakable: (step: () => unknown) => unknown): void {
  const original = timers.setImmediate;
  const patched = (callback: unknown, ...values: unknown[]): NodeJS.Immediate => {
    if (typeof callback !== "function") return original(callback as () => void);
    return original(() => void breakable(() => Reflect.apply(callback, undefined, values)));
  };
  Object.assign(patched, { [promisify.custom]: (original as Immediate & { [promisify.custom]?: unknown })[promisify.custom] });
  for (const owner of [globalThis, timers]) Object.assign(owner, { setImmediate: patched });
}
