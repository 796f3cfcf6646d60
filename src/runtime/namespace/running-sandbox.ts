import { setMaxListeners } from "node:events";
import { readFile } from "node:fs/promises";
import { connect as connectTo, type Socket } from "node:net";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { BelljarError } from "../../errors.ts";
import { createGuest } from "../guest/create-guest.ts";
import { createKeeperClient, parseReason, type KeeperClient } from "../guest/keeper-client.ts";
import type { EndReason, RunningSandbox, SandboxEnd, Usage } from "../runtime.ts";

const NEVER = new AbortController().signal;
/** Watching a sandbox that was just made begins behind its first command, which it would hold up; an end in between is found then. */
const WATCH_AFTER_MS = 20;
/* Shared by all calls of all sandboxes, each of which listens while it runs. */
setMaxListeners(0, NEVER);

export interface NamespaceSandboxOptions {
  readonly id: string;
  readonly folder: string;
  readonly sockets: string;
  readonly env: Readonly<Record<string, string>>;
  /** The keeper counts the tree; without it the guest is asked. */
  readonly countsUsage: boolean;
  /** The keeper has said that the sandbox is up. */
  readonly isUp: boolean;
  /** The keeper has told that nothing of the sandbox is left but its end. */
  readonly onRemoved: () => void;
  /** Clears the folder of a keeper that cannot be reached. One that once answered is gone: then this waits for what still dies; else undefined while it lives. */
  readonly clear: (keeperIsGone: boolean) => Promise<SandboxEnd | undefined>;
}

/** A live namespace sandbox, reached by the sockets of its guest and of its keeper. */
export class NamespaceSandbox implements RunningSandbox {
  readonly id: string;
  readonly env: Readonly<Record<string, string>>;
  readonly ended: Promise<SandboxEnd>;
  readonly #options: NamespaceSandboxOptions;
  /** Told when all is removed, which is later than the end. */
  readonly #keeper: KeeperClient;
  readonly #status: KeeperClient;
  readonly #watching = new AbortController();
  #hasAnswered: boolean;
  #watchTimer: NodeJS.Timeout | undefined;
  #settle: (end: SandboxEnd) => void = () => {};

  constructor(options: NamespaceSandboxOptions) {
    this.id = options.id;
    this.env = options.env;
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

  async connect(signal: AbortSignal): Promise<Duplex> {
    return openSocket(join(this.#options.sockets, "guest"), signal);
  }

  async usage(): Promise<Usage> {
    const usage = await this.#status.status(NEVER);
    if (!this.#hasAnswered && !this.#watching.signal.aborted) this.#watchLater(0);
    this.#hasAnswered = true;
    if (this.#options.countsUsage || usage.phase !== "running") return usage;
    const { memoryBytes, processes } = await createGuest((signal) => this.connect(signal)).usage(NEVER);
    return { ...usage, memoryBytes, processes };
  }

  extend(deadline: Date | undefined): Promise<void> {
    return this.#keeper.extend(deadline, NEVER);
  }

  pause(): Promise<void> {
    return this.#keeper.pause(NEVER);
  }

  resume(): Promise<void> {
    return this.#keeper.resume(NEVER);
  }

  async kill(reason: EndReason): Promise<SandboxEnd> {
    await this.release(); // the keeper's answer tells the end; a watch would find its socket gone and clear a second time
    try {
      await this.#keeper.kill(reason, NEVER);
      this.#options.onRemoved();
    } catch (cause) {
      if (!(cause instanceof BelljarError)) throw cause; // a keeper that is gone has ended the sandbox with it
    }
    this.#settle((await readEnd(this.#options.folder)) ?? (await this.#endOfLost()));
    return this.ended;
  }

  async release(): Promise<void> {
    clearTimeout(this.#watchTimer);
    this.#watching.abort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill("killed");
  }

  /** Waits on the keeper without keeping this process alive; undefined when nobody here listens any more. */
  async #watchEnd(): Promise<SandboxEnd | undefined> {
    const watch = createKeeperClient(async (signal) => openSocket(join(this.#options.sockets, "keeper"), signal).unref());
    try {
      await watch.wait(this.#watching.signal);
      return (await readEnd(this.#options.folder)) ?? { reason: "keeper_lost", at: new Date() };
    } catch {
      return this.#watching.signal.aborted ? undefined : this.#endOfLost();
    }
  }

  /** A keeper that went without a word has been killed; what it left is cleared. */
  async #endOfLost(): Promise<SandboxEnd> {
    const end = await this.#options.clear(this.#hasAnswered).catch(() => undefined);
    return end ?? { reason: "keeper_lost", at: new Date() };
  }
}

/** Connecting to a unix socket takes no time: what goes wrong shows on the stream, as any later fault does. */
function openSocket(path: string, signal: AbortSignal): Socket {
  signal.throwIfAborted();
  return connectTo({ path });
}

/** Why a sandbox ended, as its keeper or `clear` wrote it; undefined when nothing is written. */
export async function readEnd(folder: string): Promise<SandboxEnd | undefined> {
  try {
    const { reason, at } = JSON.parse(await readFile(join(folder, "end.json"), "utf8")) as { reason: string; at: number };
    return { reason: parseReason(reason), at: new Date(at) };
  } catch {
    return undefined;
  }
}
