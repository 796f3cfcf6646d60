import { setMaxListeners } from "node:events";
import type { Duplex } from "node:stream";
import type { NetworkPolicy } from "../network/policy.ts";
import { listListening } from "../network/ports/listening-ports.ts";
import type { PortLink } from "../network/ports/port-link.ts";
import { createGuest } from "../runtime/guest/create-guest.ts";
import type { Guest } from "../runtime/guest/guest.ts";
import { connectAwake } from "../runtime/guest/link.ts";
import type { RunningSandbox, SandboxEnd, Usage } from "../runtime/runtime.ts";
import { parseTimeout } from "./create-request.ts";
import type { HomeNetworks } from "./network/home-networks.ts";
import type { NetworkState } from "./network/network-state.ts";
import { registerLink } from "./network/port-links.ts";
import type { ServedNetwork } from "./network/served-network.ts";
import { changePolicy } from "./network/change-policy.ts";
import type { SandboxRecord } from "./sandbox-record.ts";
import type { Principal, Sandbox, SandboxInfo, SandboxPorts } from "./sandbox.ts";

/** An extension is asked for only when less than this share of the time is left. */
const EXTEND_BELOW = 0.9;
const NEVER = new AbortController().signal;
setMaxListeners(0, NEVER);

/** What a sandbox needs from those that it lives among. */
export interface SandboxKeeping {
  readonly networks: HomeNetworks;
  /** Writes down how it ended. */
  bury(record: SandboxRecord, end: SandboxEnd): Promise<void>;
  info(record: SandboxRecord): Promise<SandboxInfo>;
}

export interface LocalSandboxOptions {
  readonly running: RunningSandbox;
  readonly keeping: SandboxKeeping;
  /** Set for one that was just made: what its network begins with. */
  readonly network?: NetworkState;
}

interface ChangeOptions {
  readonly capped?: boolean;
  readonly principal?: Principal;
}

/** A sandbox whose runtime handle this process holds. The handle belongs to it: `release` closes it. */
export class LocalSandbox implements Sandbox {
  readonly record: SandboxRecord;
  readonly guest: Guest;
  readonly #running: RunningSandbox;
  readonly #keeping: SandboxKeeping;
  readonly #network: ServedNetwork;
  #deadlineMs: number;
  #end: SandboxEnd | undefined;

  constructor(record: SandboxRecord, { running, keeping, network }: LocalSandboxOptions) {
    this.record = record;
    this.#running = running;
    this.#keeping = keeping;
    this.#deadlineMs = record.deadline.getTime();
    this.guest = createGuest((signal) => running.connect(signal), {
      env: () => this.environment(),
      ended: running.ended,
      isPaused: async () => (await running.usage()).phase === "paused",
      wake: () => running.resume(),
    });
    this.#network = keeping.networks.hold(record, this.guest, network);
    void running.ended.then((end) => {
      this.#end = end;
      return keeping.networks.letGo(this.#network);
    });
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

  /** Wakes a paused one: whoever uses it needs it. */
  connect(signal: AbortSignal): Promise<Duplex> {
    const running = this.#running;
    return connectAwake(
      (one) => running.connect(one),
      () => running.resume(),
      signal,
    );
  }

  info(): Promise<SandboxInfo> {
    return this.#keeping.info(this.record);
  }

  usage(): Promise<Usage> {
    return this.#running.usage();
  }

  async environment(): Promise<Readonly<Record<string, string>>> {
    const network = await this.#network.environment();
    return { ...this.#running.env, ...network, ...this.record.env, ...this.record.placeholders };
  }

  /** `principal`: whose wish it is; absent: one without grants. */
  async setNetwork(policy: NetworkPolicy, { capped = false, principal }: ChangeOptions = {}): Promise<void> {
    const { record, guest } = this;
    const wish = { policy, capped, ...(principal && { principal }) };
    await changePolicy({ networks: this.#keeping.networks, record, guest }, wish);
  }

  networkState(): Promise<NetworkState> {
    return this.#network.state();
  }

  async ports(): Promise<SandboxPorts> {
    const [listening, links] = await Promise.all([listListening(this.guest, NEVER), this.portLinks()]);
    return { listening, links };
  }

  async portLinks(): Promise<readonly PortLink[]> {
    return (await this.#network.state()).links;
  }

  registerPort(port: number, access: PortLink["access"]): Promise<PortLink> {
    return registerLink(this.#keeping.networks, this.record, { port, access });
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

  async release(): Promise<void> {
    await this.#keeping.networks.letGo(this.#network);
    await this.#running.release();
  }
}
