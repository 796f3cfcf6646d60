import { BROWSER_MEMORY_MIN_BYTES } from "../../browser/needed-memory.ts";
import { openOnce } from "../../async/open-once.ts";
import type { Config } from "../../config/config.ts";
import type { WarmPrograms } from "../../interpreter/warm/warm-programs.ts";
import type { PassingOptions, PoolKind, PoolOptions } from "../../sandbox/pool/pool-options.ts";
import { readPackage } from "./package-root.ts";

/** For whom sandboxes wait: many callers of a server, one host, or nobody, since the process ends with its command. */
export type PoolUse = "server" | "host" | "none";

/** Where the configuration says nothing. */
const SIZES = {
  server: { sandboxes: 2, programs: 2, packages: 4 },
  host: { sandboxes: 0, programs: 1, packages: 1 },
  none: { sandboxes: 0, programs: 0, packages: 0 },
} as const satisfies Record<PoolUse, object>;

/** Sandboxes with the packages of tools that nobody calls wait no longer. */
const PACKAGES_IDLE_MS = 300_000;

/** Those that drive a browser. */
const BROWSER_TOOLSETS: ReadonlySet<string> = new Set(["browser", "browser-ii"]);

export interface OpenedPool {
  readonly options: PoolOptions;
  /** Undefined where no program can find an interpreter that waits. */
  readonly programs?: () => Promise<WarmPrograms>;
}

/** What waits in this process, by the configuration. The code that starts it is loaded with the first one. */
export function openPool(config: Config, use: PoolUse): OpenedPool {
  const { imports, languages, browser = listsBrowser(config), ...sizes } = config.pool;
  const hasDriver = browser && (config.sandbox.memoryBytes ?? Infinity) >= BROWSER_MEMORY_MIN_BYTES;
  const size = (name: keyof (typeof SIZES)[PoolUse]): number => (use === "none" ? 0 : (sizes[name] ?? SIZES[use][name]));
  const isEager = use === "server";
  const programs = openOnce(async () => new (await import("../../interpreter/warm/warm-programs.ts")).WarmPrograms(imports));
  const contexts = openOnce(() => import("../../interpreter/warm/warm-contexts.ts"));
  const drivers = openOnce(() => import("../../browser/start-driver.ts"));
  const { timeoutMs: _timeout, network: _network, ...limits } = config.program;
  const kinds: readonly PoolKind[] = [
    {
      name: "sandboxes",
      size: size("sandboxes"),
      options: {},
      isEager,
      warm: async (sandbox, signal) => {
        await (await contexts()).warmContexts({ languages, imports })(sandbox, signal);
        if (hasDriver) await (await drivers()).warmDriver(sandbox, config.browser, signal);
      },
    },
    {
      name: "programs",
      size: size("programs"),
      options: { limits, ephemeral: true },
      isEager,
      warm: async (sandbox, signal) => (await programs()).warm(sandbox, signal),
    },
  ];
  const passing: PassingOptions = {
    name: "packages",
    kinds: size("packages"),
    size: use === "server" ? 2 : 1,
    idleMs: PACKAGES_IDLE_MS,
    warm: async (start, sandbox, signal) => (start === "python" ? (await programs()).warm(sandbox, signal) : undefined),
  };
  const version = JSON.stringify([readPackage().version, languages, imports, hasDriver]);
  const handOver: PoolOptions["handOver"] = async (...given) => (await contexts()).handOverContexts(...given);
  return { options: { version, kinds, passing, handOver }, ...(size("programs") + size("packages") > 0 && { programs: () => programs() }) };
}

function listsBrowser({ toolsets = [] }: Config): boolean {
  return toolsets.some((name) => BROWSER_TOOLSETS.has(name));
}
