import type { Duplex } from "node:stream";
import { BelljarError } from "../errors.ts";
import type { PortLink } from "../network/ports/port-link.ts";
import { createGuest } from "../runtime/guest/create-guest.ts";
import type { Guest } from "../runtime/guest/guest.ts";
import type { RunningSandbox, SandboxEnd, Usage } from "../runtime/runtime.ts";
import { parseTimeout } from "./create-request.ts";
import type { SandboxRecord } from "./sandbox-record.ts";
import type { Sandbox, SandboxInfo } from "./sandbox.ts";

/** An extension is asked for only when less than this share of the time is left. */
const EXTEND_BELOW = 0.9;

/** What a sandbox needs from those that it lives among. */
export interface SandboxKeeping {
  /** Writes down how it ended. */
  bury(record: SandboxRecord, end: SandboxEnd): Promise<void>;
  info(record: SandboxRecord): Promise<SandboxInfo>;
}

/** A sandbox whose runtime handle this process holds. The handle belongs to it: `release` closes it. */
export class LocalSandbox implements Sandbox {
  readonly record: SandboxRecord;
  readonly guest: Guest;
  readonly #running: RunningSandbox;
  readonly #keeping: SandboxKeeping;
  #deadlineMs: number;
  #end: SandboxEnd | undefined;

  constructor(record: SandboxRecord, running: RunningSandbox, keeping: SandboxKeeping) {
    this.record = record;
    this.#running = running;
    this.#keeping = keeping;
    this.#deadlineMs = record.deadline.getTime();
    void running.ended.then((end) => (this.#end = end));
    this.guest = createGuest((signal) => running.connect(signal), { env: { ...running.env, ...record.env }, ended: running.ended });
  }

  get id(): string {
    return this.record.id;
  }

  /** What is known of its end without asking anybody. */
  get end(): SandboxEnd | undefined {
    return this.#end;
  }

  /** Settles once, when it has ended; never rejects. */
  get ended(): Promise<SandboxEnd> {
    return this.#running.ended;
  }

  connect(signal: AbortSignal): Promise<Duplex> {
    return this.#running.connect(signal);
  }

  info(): Promise<SandboxInfo> {
    return this.#keeping.info(this.record);
  }

  usage(): Promise<Usage> {
    return this.#running.usage();
  }

  async setNetwork(): Promise<void> {
    throw notYet();
  }

  async ports(): ReturnType<Sandbox["ports"]> {
    throw notYet();
  }

  async registerPort(): Promise<PortLink> {
    throw notYet();
  }

  async extend(timeoutMs: number): Promise<void> {
    const deadline = new Date(Date.now() + parseTimeout(timeoutMs));
    await this.#running.extend(deadline);
    this.#deadlineMs = deadline.getTime();
  }

  /** Gives a sandbox in use its full time again, never less than it has. */
  async keepAlive(): Promise<void> {
    const { timeoutMs } = this.record;
    if (this.#deadlineMs - Date.now() >= timeoutMs * EXTEND_BELOW) return;
    const { deadline } = await this.#running.usage();
    this.#deadlineMs = deadline?.getTime() ?? Number.POSITIVE_INFINITY;
    if (this.#deadlineMs < Date.now() + timeoutMs) await this.extend(timeoutMs);
  }

  async kill(): Promise<void> {
    this.#end = await this.#running.kill("killed");
    await this.#keeping.bury(this.record, this.#end);
  }

  release(): Promise<void> {
    return this.#running.release();
  }
}

function notYet(): BelljarError {
  return new BelljarError("NOT_SUPPORTED", "Sandboxes have no network here");
}
