import { BelljarError } from "../errors.ts";
import type { Runtime, RuntimeOptions } from "./contract/runtime.ts";

const RUNTIMES: Readonly<Record<string, (options: RuntimeOptions) => Promise<Runtime>>> = {
  namespace: async (options) => (await import("./namespace/namespace-runtime.ts")).openNamespaceRuntime(options),
};

/**
 * Every runtime by its name, `standard` first and open: it fails here if it cannot be opened. Each other one is opened when it is first
 * needed. Rejects with `RUNTIME_UNAVAILABLE`.
 */
export async function openRuntimes(standard: string, options: RuntimeOptions): Promise<ReadonlyMap<string, Runtime>> {
  const first = await openRuntime(standard, options);
  const others = Object.keys(RUNTIMES).filter((name) => name !== standard);
  return new Map([[standard, first], ...others.map((name) => [name, lazyRuntime(name, () => openRuntime(name, options))] as const)]);
}

/** Opens a runtime by its name; what only that one needs is loaded with it. Rejects with `RUNTIME_UNAVAILABLE`. */
export async function openRuntime(name: string, options: RuntimeOptions): Promise<Runtime> {
  const open = RUNTIMES[name];
  if (!open)
    throw new BelljarError("RUNTIME_UNAVAILABLE", `Unknown runtime "${name}"; expected one of ${Object.keys(RUNTIMES).join(", ")}`);
  return open(options);
}

/** A runtime that `open` opens when it is first asked for something. If that fails, the next question tries again. */
export function lazyRuntime(name: string, open: () => Promise<Runtime>): Runtime {
  let opened: Promise<Runtime> | undefined;
  const need = (): Promise<Runtime> =>
    (opened ??= open().catch((cause: unknown) => {
      opened = undefined;
      throw cause;
    }));
  return {
    name,
    layers: {
      templates: async () => (await need()).layers.templates(),
      describe: async (base) => (await need()).layers.describe(base),
      remove: async (lastRun) => (await need()).layers.remove(lastRun),
      has: async (lastRun) => (await need()).layers.has(lastRun),
      measure: async (lastRun, signal) => (await need()).layers.measure(lastRun, signal),
      flush: async (lastRun) => (await need()).layers.flush(lastRun),
    },
    probe: async () => (await need()).probe(),
    create: async (spec, signal) => (await need()).create(spec, signal),
    open: async (run) => (await need()).open(run),
    clear: async (run) => (await need()).clear(run),
  };
}
