import type { RuntimeOptions } from "../contract/runtime.ts";
import type { Limits } from "../contract/sandbox-spec.ts";
import type { Cgroups } from "./cgroups.ts";
import type { IdMap } from "./id-map.ts";
import type { Storage } from "./storage.ts";

export interface NamespaceRuntimeOptions extends RuntimeOptions {
  /** For tests: a map that this host would not choose. */
  readonly idMap?: IdMap["kind"];
}

/** What this process found out about the host, once. */
export interface NamespaceHost {
  readonly options: NamespaceRuntimeOptions;
  readonly idMap: IdMap;
  readonly cgroups: Cgroups;
  readonly storage: Storage;
  readonly limits: readonly (keyof Limits)[];
  readonly bootId: string;
}
