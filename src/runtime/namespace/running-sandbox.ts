import { setMaxListeners } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { BelljarError } from "../../errors.ts";
import { createGuest } from "../guest/create-guest.ts";
import { createKeeperClient, KEEPER_ANSWER_MS, type KeeperClient, type Raised, type RaiseOptions } from "../guest/keeper-client.ts";
import type { DeadlineAction, EndReason, RecordedRun, RunningSandbox, SandboxEnd, Usage } from "../contract/run.ts";
import type { ClearRequest, Keeper } from "./jail-spec.ts";
import { connectSocket, openSocket } from "../guest/open-socket.ts";
import { readEnd, runFolder, unwrittenEnd } from "./run-paths.ts";

const NEVER = new AbortController().signal;
/** Watching a sandbox that was just made begins behind its first command, which it would hold up; an end in between is found then. */
const WATCH_AFTER_MS = 20;
/** A keeper that lives but cannot be watched has as many watchers as it serves. */
const WATCH_AGAIN_MS = 5_000;
/* Shared by all calls of all sandboxes, each of which listens while it runs. */
setMaxListeners(0, NEVER);

export interface NamespaceSandboxOptions {
  readonly run: RecordedRun;
  readonly sockets: string;
  /** The keeper counts the tree; without it the guest is asked. */
  readonly countsUsage: boolean;
  /** The keeper has said that the sandbox is up. */
  readonly isUp: boolean;
  /** Clears the folder of a keeper that cannot be reached; of one that is gone or silent this waits for what still dies, else it is undefined while the keeper lives. */
  readonly clear: (request: ClearRequest) => Promise<SandboxEnd | undefined>;
}

/** A live run of a namespace sandbox, reached by the sockets of its guest and of its keeper. */
export class NamespaceSandbox implements RunningSandbox {
  readonly id: string;
  readonly generation: number;
  readonly env: Readonly<Record<string, string>>;
  readonly ended: Promise<SandboxEnd>;
  readonly #options: NamespaceSandboxOptions;
  /** Told when all is removed, which is later than the end. */
  readonly #keeper: KeeperClient;
  readonly #status: KeeperClient;
  #watching = new AbortController();
  #hasAnswered: boolean;
  #watchTimer: NodeJS.Timeout | undefined;
  #settle: (end: SandboxEnd) => void = () => {};

  constructor(options: NamespaceSandboxOptions) {
    this.id = options.run.id;
    this.generation = options.run.generation;
    this.env = options.run.inside.env;
    this.#options = options;
    this.ended = new Promise((resolve) => (this.#settle = resolve));
    const connectKeeper = async (signal: AbortSignal) => openSocket(join(options.sockets, "keeper"), signal);
    this.#keeper = createKeeperClient(connectKeeper);
    this.#status = createKeeperClient(connectKeeper, { ended: this.ended });
    this.#hasAnswered = options.isUp;
    if (options.isUp) this.#watchLater(WATCH_AFTER_MS);
  }

  /** Only for one whose keeper has answered: where none does yet, a watch would clear away what is just being made. */
  #watchLater(afterMs: number): void {
    const watch = (): void => void this.#watchEnd().then((end) => end && this.#settle(end));
    this.#watchTimer = setTimeout(watch, afterMs).unref();
  }

  connect(signal: AbortSignal): Promise<Duplex> {
    return connectSocket({ path: join(this.#options.sockets, "guest"), pausedPath: this.#pausedPath, signal });
  }

  get #pausedPath(): string {
    return join(this.#options.sockets, "paused");
  }

  async usage(): Promise<Usage> {
    const usage = await this.#status.status(NEVER);
    if (!this.#hasAnswered && !this.#watching.signal.aborted) this.#watchLater(0);
    this.#hasAnswered = true;
    if (this.#options.countsUsage) return usage;
    const { oomKills: _, memoryAwakeBytes: __, ...known } = usage;
    return known.phase === "running" ? { ...known, ...(await this.#guestUsage()) } : known;
  }

  /** Nothing of a guest that answers late or with nonsense: what the keeper says holds all the same, and the sandbox can be killed. */
  async #guestUsage(): Promise<Partial<Usage>> {
    const guest = createGuest((signal) => this.connect(signal));
    try {
      const { memoryBytes, processes } = await guest.usage(AbortSignal.timeout(KEEPER_ANSWER_MS));
      return { memoryBytes, processes };
    } catch {
      return {};
    }
  }

  extend(deadline: Date | undefined, action?: DeadlineAction): Promise<void> {
    return this.#keeper.extend(deadline, action, NEVER);
  }

  /** As the keeper's operation. */
  raise(layer: string, options: RaiseOptions): Promise<Raised> {
    return this.#status.raise(layer, options, NEVER);
  }

  pause(): Promise<void> {
    return this.#keeper.pause(NEVER);
  }

  resume(): Promise<void> {
    return this.#keeper.resume(NEVER);
  }

  isPaused(): boolean {
    return existsSync(this.#pausedPath);
  }

  sleepAfter(idleMs: number | undefined): Promise<void> {
    return this.#keeper.sleepAfter(idleMs, NEVER);
  }

  /** Only the keeper can stop it: a run whose keeper does not answer lives on, or was lost. */
  stop(): Promise<SandboxEnd> {
    return this.#unwatched(async () => {
      const before = await readEnd(this.#options.run);
      return before ?? this.#askToStop();
    });
  }

  /** The keeper may end meanwhile, as by a kill: then that end holds. */
  async #askToStop(): Promise<SandboxEnd> {
    try {
      await this.#keeper.stop(NEVER);
    } catch (cause) {
      const end = await readEnd(this.#options.run);
      if (!end) throw cause;
      return end;
    }
    return (await readEnd(this.#options.run)) ?? throwAlive();
  }

  /** The keeper is asked; one that says nothing is ended, and the sandbox with it. Rejects when the sandbox may live on. */
  kill(reason: EndReason): Promise<SandboxEnd> {
    return this.#unwatched(async () => {
      const keeper = await this.#askToKill(reason);
      return (await readEnd(this.#options.run)) ?? (await this.#clear({ keeper, removesLayers: true }, reason)) ?? throwAlive();
    });
  }

  /** The keeper's answer tells the end: a watch would find its socket gone, and clear a second time. */
  async #unwatched(work: () => Promise<SandboxEnd>): Promise<SandboxEnd> {
    await this.release();
    try {
      this.#settle(await work());
    } catch (cause) {
      this.#watching = new AbortController();
      this.#watchLater(WATCH_AGAIN_MS);
      throw cause;
    }
    return this.ended;
  }

  async #askToKill(reason: EndReason): Promise<Keeper> {
    try {
      await this.#keeper.kill(reason, NEVER);
    } catch (cause) {
      if (!(cause instanceof BelljarError)) throw cause;
      if (cause.code !== "GUEST_PROTOCOL") return "silent"; // it lives, and does not do it
    }
    // No connection: a keeper that is gone has ended the sandbox with it. Clearing waits for its lock, and so fails while it lives.
    return this.#hasAnswered ? "gone" : "unknown";
  }

  async release(): Promise<void> {
    clearTimeout(this.#watchTimer);
    this.#watching.abort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill("killed");
  }

  /** Waits on the keeper without keeping this process alive; undefined when nobody here listens any more, or it lives and is watched later. */
  async #watchEnd(): Promise<SandboxEnd | undefined> {
    const watch = createKeeperClient(async (signal) => openSocket(join(this.#options.sockets, "keeper"), signal).unref());
    try {
      const said = await watch.wait(this.#watching.signal);
      return (await readEnd(this.#options.run)) ?? unwrittenEnd(this.#options.run, said);
    } catch (cause) {
      if (this.#watching.signal.aborted) return undefined;
      const isRefused = cause instanceof BelljarError && cause.code === "PROCESS_LIMIT";
      const end = isRefused ? undefined : await this.#clear({ keeper: "gone", removesLayers: false }, "keeper_lost").catch(() => undefined);
      if (!end) this.#watchLater(WATCH_AGAIN_MS);
      return end;
    }
  }

  /**
   * Undefined while the keeper lives; rejects when nobody knows. A folder that is gone was cleared, and forgotten, by somebody else: then the
   * end has this reason.
   */
  async #clear(request: ClearRequest, reason: EndReason): Promise<SandboxEnd | undefined> {
    try {
      return await this.#options.clear(request);
    } catch (cause) {
      if (existsSync(runFolder(this.#options.run))) throw cause;
      return { reason, at: new Date() };
    }
  }
}

function throwAlive(): never {
  throw new BelljarError("RUNTIME_FAILED", "The sandbox's keeper lives, and did not end it; try again");
}
