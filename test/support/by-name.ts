import type { Runtime } from "../../src/runtime/contract/runtime.ts";

/** The runtimes of a process, the first one the standard. */
export function byName(...runtimes: readonly Runtime[]): ReadonlyMap<string, Runtime> {
  return new Map(runtimes.map((runtime) => [runtime.name, runtime]));
}
