import { BelljarError } from "../errors.ts";
import type { Runtime, RuntimeOptions } from "./runtime.ts";

const RUNTIMES: Readonly<Record<string, (options: RuntimeOptions) => Promise<Runtime>>> = {
  namespace: async (options) => (await import("./namespace/namespace-runtime.ts")).openNamespaceRuntime(options),
};

/** Opens a runtime by its name; what only that one needs is loaded with it. Rejects with `RUNTIME_UNAVAILABLE`. */
export async function openRuntime(name: string, options: RuntimeOptions): Promise<Runtime> {
  const open = RUNTIMES[name];
  if (!open)
    throw new BelljarError("RUNTIME_UNAVAILABLE", `Unknown runtime "${name}"; expected one of ${Object.keys(RUNTIMES).join(", ")}`);
  return open(options);
}
