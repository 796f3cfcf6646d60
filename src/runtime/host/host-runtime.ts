import { homedir, userInfo } from "node:os";
import type { Duplex } from "node:stream";
import { limitTime } from "../../async/limit-time.ts";
import { BelljarError } from "../../errors.ts";
import { createGuest } from "../guest/create-guest.ts";
import type { Inside, RunningSandbox, SandboxEnd, Usage } from "../contract/run.ts";
import type { Runtime, RuntimeOptions } from "../contract/runtime.ts";
import type { Base, SandboxSpec } from "../contract/sandbox-spec.ts";
import { DEFAULT_BASE } from "../contract/sandbox-spec.ts";
import { HOST_ISOLATION } from "./host-isolation.ts";
import { linkPrograms } from "./link-programs.ts";
import { UnjailedGuest } from "./unjailed-guest.ts";

const ANSWER_MS = 5_000;

export interface HostRuntimeOptions extends Pick<RuntimeOptions, "binary" | "runtimeDirectory" | "kernels" | "programs"> {
  /** Where commands start and relative paths begin. It exists. */
  readonly workspace: string;
  /** Variables of every command. */
  readonly env: Readonly<Record<string, string>>;
}

/**
 * The machine that this process runs in, as its only sandbox: commands run as this process's user, and nothing is kept apart. It ends with this
 * process. Rejects with `RUNTIME_UNAVAILABLE` if Belljar's programs cannot be put where every sandbox has them.
 */
export async function openHostRuntime(options: HostRuntimeOptions): Promise<Runtime> {
  await linkPrograms(options);
  let present: HostRun | undefined;
  return {
    name: "host",
    layers: {
      templates: async () => [{ name: DEFAULT_BASE.template, description: "This machine as it is" }],
      describe: async (base) => describe(base, options),
      remove: async () => undefined,
      has: async () => true,
      measure: async () => undefined,
      flush: async () => undefined,
    },
    probe: async () => HOST_ISOLATION,
    async create(spec, signal) {
      assertPossible(spec);
      if (present)
        throw new BelljarError("NOT_SUPPORTED", "Belljar runs inside this machine, which is its only sandbox: there is no other one");
      const run = new HostRun(spec, options.env);
      present = run;
      void run.ended.then(() => (present = undefined));
      await run.start(options, signal);
      return run;
    },
    open: async ({ id, generation }) => (present?.id === id && present.generation === generation ? present : undefined),
    clear: async ({ id, generation }) =>
      present?.id === id && present.generation === generation ? undefined : { reason: "host_lost", at: new Date() },
  };
}

function describe({ template, layers }: Base, { workspace, env }: HostRuntimeOptions): Inside {
  if (layers !== undefined) throw new BelljarError("NOT_SUPPORTED", "Belljar runs inside this machine: it starts from no image");
  if (template !== DEFAULT_BASE.template)
    throw new BelljarError("TEMPLATE_NOT_FOUND", `There is no template "${template}" inside this machine`);
  return { env, home: homedir(), workspace, cwd: workspace };
}

function assertPossible({ required, workspace, mounts }: SandboxSpec): void {
  if (required.length > 0)
    throw new BelljarError("LIMIT_UNENFORCEABLE", `Belljar runs inside this machine, and cannot enforce ${required.join(", ")}`);
  if (workspace || (mounts && mounts.length > 0))
    throw new BelljarError("NOT_SUPPORTED", "Belljar runs inside this machine: its folders are there already, and none is shown in it");
}

/** This machine, while the server runs. */
class HostRun implements RunningSandbox {
  readonly id: string;
  readonly generation: number;
  readonly env: Readonly<Record<string, string>>;
  readonly ended: Promise<SandboxEnd>;
  readonly #streams = new Set<Duplex>();
  #guest: UnjailedGuest | undefined;
  #end: (end: SandboxEnd) => void = () => undefined;

  constructor({ id, generation }: SandboxSpec, env: Readonly<Record<string, string>>) {
    this.id = id;
    this.generation = generation;
    this.env = env;
    this.ended = new Promise((resolve) => (this.#end = resolve));
  }

  async start(options: HostRuntimeOptions, signal: AbortSignal): Promise<void> {
    try {
      const guest = await UnjailedGuest.start({ ...options, startFolder: options.workspace, user: userInfo().username });
      this.#guest = guest;
      void guest.exited.then(() => this.#end({ reason: "exited", at: new Date() }));
      using limit = limitTime(signal, ANSWER_MS);
      await createGuest((opened) => this.connect(opened)).ping(limit.signal);
    } catch (cause) {
      await this.kill("create_failed");
      throw cause;
    }
  }

  async connect(signal: AbortSignal): Promise<Duplex> {
    if (!this.#guest) throw new BelljarError("SANDBOX_ENDED", "The process that serves this machine has ended");
    const stream = await this.#guest.connect(signal);
    this.#streams.add(stream);
    stream.once("close", () => this.#streams.delete(stream));
    return stream;
  }

  async usage(): Promise<Usage> {
    const { memoryBytes, processes } = await createGuest((signal) => this.connect(signal)).usage(AbortSignal.timeout(ANSWER_MS));
    return { memoryBytes, memoryPeakBytes: memoryBytes, cpuUs: 0, processes, phase: "running", deadlineAction: "kill" };
  }

  /** The machine has no deadline of Belljar's: it lives as long as the server. */
  async extend(): Promise<void> {}

  async pause(): Promise<void> {
    throw new BelljarError("NOT_SUPPORTED", "Belljar runs inside this machine, and cannot pause it");
  }

  async resume(): Promise<void> {}

  isPaused(): boolean {
    return false;
  }

  async sleepAfter(idleMs: number | undefined): Promise<void> {
    if (idleMs !== undefined) await this.pause();
  }

  async stop(): Promise<SandboxEnd> {
    throw new BelljarError("NOT_SUPPORTED", "Belljar runs inside this machine, and cannot stop it");
  }

  /** What was started through it is killed; the files are the machine's. */
  async kill(reason: SandboxEnd["reason"]): Promise<SandboxEnd> {
    const guest = this.#guest;
    this.#guest = undefined;
    this.#end({ reason, at: new Date() });
    for (const stream of this.#streams) stream.destroy();
    await guest?.[Symbol.asyncDispose]();
    return this.ended;
  }

  /** The processes of the machine's one sandbox end with its server. */
  async release(): Promise<void> {
    await this.kill("exited");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill("killed");
  }
}
