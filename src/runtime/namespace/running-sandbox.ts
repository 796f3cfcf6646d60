import { setMaxListeners } from "node:events";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { BelljarError } from "../../errors.ts";
import { createGuest } from "../guest/create-guest.ts";
import { createKeeperClient, KEEPER_ANSWER_MS, parseReason, type KeeperClient } from "../guest/keeper-client.ts";
import type { EndReason, RunningSandbox, SandboxEnd, Usage } from "../runtime.ts";
import type { Keeper } from "./jail-spec.ts";
import { connectSocket, openSocket } from "./open-socket.ts";

const NEVER = new AbortController().signal;
/** Watching a sandbox that was just made begins behind its first command, which it would hold up; an end in between is found then. */
const WATCH_AFTER_MS = 20;
/** A keeper that lives but cannot be watched has as many watchers as it serves. */
const WATCH_AGAIN_MS = 5_000;
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
  /** Clears the folder of a keeper that cannot be reached; of one that is gone or silent this waits for what still dies, else it is undefined while the keeper lives. */
  readonly clear: (keeper: Keeper) => Promise<SandboxEnd | undefined>;
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
  #watching = new AbortController();
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

  connect(signal: AbortSignal): Promise<Duplex> {
    return connectSocket({ path: join(this.#options.sockets, "guest"), pausedPath: join(this.#options.sockets, "paused"), signal });
  }

  async usage(): Promise<Usage> {
    const usage = await this.#status.status(NEVER);
    if (!this.#hasAnswered && !this.#watching.signal.aborted) this.#watchLater(0);
    this.#hasAnswered = true;
    if (this.#options.countsUsage || usage.phase !== "running") return usage;
    return { ...usage, ...(await this.#guestUsage()) };
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

  extend(deadline: Date | undefined): Promise<void> {
    return this.#keeper.extend(deadline, NEVER);
  }

  pause(): Promise<void> {
    return this.#keeper.pause(NEVER);
  }

  resume(): Promise<void> {
    return this.#keeper.resume(NEVER);
  }

  /** The keeper is asked; one that says nothing is ended, and the sandbox with it. Rejects when the sandbox may live on. */
  async kill(reason: EndReason): Promise<SandboxEnd> {
    await this.release(); // the keeper's answer tells the end; a watch would find its socket gone and clear a second time
    try {
      const keeper = await this.#askToKill(reason);
      this.#settle((await readEnd(this.#options.folder)) ?? (await this.#clear(keeper)) ?? throwAlive());
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
      this.#options.onRemoved();
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
      return (await readEnd(this.#options.folder)) ?? said;
    } catch (cause) {
      if (this.#watching.signal.aborted) return undefined;
      const isRefused = cause instanceof BelljarError && cause.code === "PROCESS_LIMIT";
      const end = isRefused ? undefined : await this.#clear("gone").catch(() => undefined);
      if (!end) this.#watchLater(WATCH_AGAIN_MS);
      return end;
    }
  }

  /** Undefined while the keeper lives; rejects when nobody knows. A folder that is gone was cleared, and forgotten, by somebody else. */
  async #clear(keeper: Keeper): Promise<SandboxEnd | undefined> {
    try {
      return await this.#options.clear(keeper);
    } catch (cause) {
      if (existsSync(this.#options.folder)) throw cause;
      return { reason: "keeper_lost", at: new Date() };
    }
  }
}

function throwAlive(): never {
  throw new BelljarError("RUNTIME_FAILED", "The sandbox's keeper lives, and did not end it; try again");
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
