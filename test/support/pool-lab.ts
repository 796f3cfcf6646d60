import { readdirSync } from "node:fs";
import { join } from "node:path";
import { createInterpreter, type Interpreter } from "../../src/interpreter/interpreter.ts";
import { handOverContexts, warmContexts } from "../../src/interpreter/warm/warm-contexts.ts";
import { WarmPrograms } from "../../src/interpreter/warm/warm-programs.ts";
import type { PoolKind } from "../../src/sandbox/pool/pool-options.ts";
import type { LocalSandboxes } from "../../src/sandbox/local-sandboxes-options.ts";
import { createLocalSandboxes } from "../../src/sandbox/local-sandboxes.ts";
import type { CreateOptions, Principal, Quotas, Sandbox } from "../../src/sandbox/sandbox.ts";
import { LOCAL } from "../../src/sandbox/sandbox.ts";
import { byName } from "./by-name.ts";
import { listed } from "./listed.ts";
import { type Home, KERNELS, makeHome } from "./namespace-home.ts";
import { until } from "./until.ts";

const MIB = 2 ** 20;
const config = { sandbox: { timeoutMs: 600_000, pids: 256 }, listMax: 100, tombstoneRetentionMs: 600_000 };
export const PROGRAM_LIMITS = { memoryBytes: 256 * MIB, pids: 64, openFiles: 1_024 };

export interface PoolProcessOptions {
  readonly sandboxes?: number;
  readonly programs?: number;
  readonly version?: string;
  readonly languages?: readonly string[];
  readonly quotas?: Quotas;
}

/** What one Belljar process has on the home of a lab. */
export interface PoolProcess extends AsyncDisposable {
  readonly sandboxes: LocalSandboxes;
  readonly interpreter: Interpreter;
  readonly problems: readonly string[];
  create(options?: CreateOptions, principal?: Principal): Promise<Sandbox>;
}

/** A home in which real sandboxes wait. Disposing it ends all of them, and leaves nothing. */
export interface PoolLab extends AsyncDisposable {
  readonly home: Home;
  open(options?: PoolProcessOptions): Promise<PoolProcess>;
  /** The ids of those that can be claimed. */
  waiting(): readonly string[];
  /** The ids of all folders of sandboxes. */
  folders(): readonly string[];
  /** Resolves once so many can be claimed. */
  hasWaiting(count: number): Promise<readonly string[]>;
}

export async function openPoolLab(): Promise<PoolLab> {
  const home = await makeHome();
  const processes: PoolProcess[] = [];
  const waiting = (): readonly string[] => filesBelow(join(home.path, "waiting")).filter((name) => /^[a-z0-9]{20}$/.test(name));
  return {
    home,
    waiting,
    folders: () => filesOf(join(home.path, "sandboxes")),
    async open(options = {}) {
      const made = await openProcess(home, options);
      processes.push(made);
      return made;
    },
    async hasWaiting(count) {
      await until(
        () => waiting().length === count,
        () => `${waiting().length} wait, not ${count}: ${processes.flatMap(({ problems }) => problems).join("; ")}`,
      );
      return waiting();
    },
    async [Symbol.asyncDispose]() {
      for (const one of processes) await one[Symbol.asyncDispose]();
      const last = await openProcess(home, {});
      for (const { id } of await listed(last.sandboxes, LOCAL, { state: ["running"] })) await (await last.sandboxes.get(LOCAL, id)).kill();
      await last[Symbol.asyncDispose]();
      await home[Symbol.asyncDispose]();
    },
  };
}

async function openProcess(
  home: Home,
  { sandboxes: size = 0, programs = 0, version = "1", languages = ["python"], quotas }: PoolProcessOptions,
): Promise<PoolProcess> {
  const problems: string[] = [];
  const warm = new WarmPrograms(["json", "random"]);
  const kinds: readonly PoolKind[] = [
    { name: "sandboxes", size, options: {}, isEager: true, warm: warmContexts({ languages, imports: ["json", "random"] }) },
    {
      name: "programs",
      size: programs,
      options: { limits: PROGRAM_LIMITS, ephemeral: true },
      isEager: true,
      warm: (sandbox, signal) => warm.warm(sandbox, signal),
    },
  ];
  const sandboxes = createLocalSandboxes({
    home: home.path,
    runtimes: byName(await home.open("auto", "run", KERNELS)),
    config,
    pool: { version, kinds, handOver: handOverContexts, room: () => "free" },
    ...(quotas && { quotas }),
    report: (problem) => problems.push(problem),
  });
  sandboxes.beginPool();
  const interpreter = createInterpreter({ sandboxes, limits: PROGRAM_LIMITS, warm });
  let isOpen = true;
  return {
    sandboxes,
    interpreter,
    problems,
    create: (options = {}, principal = LOCAL) => sandboxes.create(principal, options, AbortSignal.timeout(30_000)),
    async [Symbol.asyncDispose]() {
      if (!isOpen) return;
      isOpen = false;
      await interpreter[Symbol.asyncDispose]();
      await sandboxes[Symbol.asyncDispose]();
    },
  };
}

function filesOf(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // nothing has waited yet
  }
}

function filesBelow(folder: string): readonly string[] {
  return filesOf(folder).flatMap((name) => filesOf(join(folder, name)));
}
