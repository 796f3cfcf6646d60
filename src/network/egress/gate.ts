import type { Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import type { ConnectionRecord } from "../connection-record.ts";
import type { EgressState } from "../egress.ts";
import { isAddress, toAuthority, toCanonicalHost } from "../host-name.ts";
import type { SecretGuard } from "../secrets/secret-guard.ts";
import type { OwnListeners } from "../own-listeners.ts";
import { isOwnAddress, kindOfAddress, ownAddresses } from "./addresses.ts";
import type { Allowance } from "./bounds.ts";
import type { DialResult } from "./dial.ts";
import { dialFirst } from "./dial.ts";
import type { EgressLimits } from "./egress-options.ts";
import { Flow, type FlowStart, type FlowSummary } from "./flow.ts";
import { PinnedNames } from "./pinned-names.ts";
import { type FoundAllowance, forScheme, isConditional, PolicyTable } from "./policy-table.ts";
import {
  closedAddress,
  mixedAddresses,
  noRule,
  notGrantedInside,
  ownListener,
  type Place,
  privateAddress,
  type Reason,
  Refusal,
} from "./refusal.ts";
import type { Resolver } from "./resolver.ts";

export interface GateOptions {
  readonly sandbox: { readonly id: string; readonly owner: string };
  readonly resolver: Resolver;
  readonly limits: EgressLimits;
  readonly listeners: Pick<OwnListeners, "has">;
  /** The sandbox's own, and its owner's. */
  readonly allowances: readonly Allowance[];
  readonly record: (record: ConnectionRecord) => void;
  readonly onFault?: (error: unknown, sandbox: string) => void;
}

/** A new interface of this machine is known after so long. */
const OWN_ADDRESSES_MS = 2_000;

/** The one place that says what one sandbox may reach, and that makes its connections. Knows every flow that lives. */
export class Gate {
  readonly sandboxId: string;
  readonly limits: EgressLimits;
  readonly #options: GateOptions;
  readonly #names: PinnedNames;
  readonly #flows = new Set<Flow>();
  readonly #closed = new AbortController();
  #table: PolicyTable;
  /** What of it may lead to places that are not of the public Internet. */
  #inside: PolicyTable;
  #guard: SecretGuard | undefined;
  #generation = 0;
  #own: { readonly addresses: ReadonlySet<string>; readonly until: number } | undefined;

  constructor(options: GateOptions, state: EgressState) {
    this.#options = options;
    this.limits = options.limits;
    this.sandboxId = options.sandbox.id;
    this.#names = new PinnedNames({ resolver: options.resolver, timeoutMs: options.limits.dialMs, pinMs: options.limits.pinMs });
    this.#table = new PolicyTable(state.policy);
    this.#inside = insideTable(state) ?? this.#table;
    this.#guard = state.guard;
  }

  get guard(): SecretGuard | undefined {
    return this.#guard;
  }

  /** Another one after each change: connections that were kept from before it were judged by something else. */
  get generation(): number {
    return this.#generation;
  }

  get isAll(): boolean {
    return this.#table.isAll;
  }

  /** From now on. Flows that are no longer allowed are cut. */
  update(state: EgressState): void {
    this.#table = new PolicyTable(state.policy);
    this.#inside = insideTable(state) ?? this.#table;
    this.#guard = state.guard;
    this.#generation += 1;
    const refusal = new Refusal("policy-changed", "The sandbox's network policy changed and no longer allows this connection.");
    for (const flow of this.#flows) if (!flow.isStillAllowed() || !this.#mayStayAt(flow)) flow.stop(refusal);
  }

  /** Every flow is over, as the sandbox is. */
  close(): void {
    this.#closed.abort();
    for (const flow of this.#flows) {
      flow.end();
      flow.cut(new Refusal("reset", "The sandbox ended."));
    }
  }

  /** What broke that should not. A stream that breaks says so with a code, and that is the network's daily life. */
  fault(error: unknown): void {
    const isExpected = error instanceof Error && "code" in error;
    if (!isExpected) this.#options.onFault?.(error, this.sandboxId);
  }

  find({ host, port }: Place): readonly FoundAllowance[] {
    return this.#table.find(host, port);
  }

  ports(host: string): readonly number[] {
    return this.#table.ports(host);
  }

  noRule(place: Place, request?: string): Refusal {
    return noRule(this.sandboxId, place, request);
  }

  /** Whether TLS to this place is read: for a secret, or because every allowance has conditions. */
  readsTls({ host, port }: Place): boolean {
    if (this.#guard?.terminates(host, port)) return true;
    const allowances = forScheme(this.find({ host, port }), "https");
    return allowances.length > 0 && allowances.every(isConditional);
  }

  /**
   * Resolves when the next request of the sandbox may begin, or the sandbox is over: a kept connection is counted once, whatever comes on it.
   * Waiting, and not a refusal, keeps the audit whole.
   */
  async turn(): Promise<void> {
    const waitMs = Math.max(...this.#options.allowances.map((allowance) => allowance.takeTurn()));
    if (waitMs > 0) await wait(waitMs, undefined, { signal: this.#closed.signal }).catch(() => {});
  }

  start(start: FlowStart): Flow {
    const flow = new Flow(this, start);
    this.#flows.add(flow);
    return flow;
  }

  /** A flow that never began. */
  refuse(start: FlowStart, refusal: Refusal): void {
    this.start(start).end(refusal);
  }

  takeBytes(count: number): boolean {
    return this.#options.allowances.map((allowance) => allowance.takeBytes(count)).every(Boolean);
  }

  ended(flow: Flow, summary: FlowSummary | undefined): void {
    this.#flows.delete(flow);
    const { id: sandbox, owner } = this.#options.sandbox;
    if (summary) this.#options.record({ sandbox, owner, ...summary });
  }

  overdrawn(flow: Flow): void {
    flow.stop(new Refusal("too-much-data", "The sandbox, or its owner, has sent and received all that a day allows."));
  }

  /** Where a place leads to, judged: never to a private address unless a rule names the place exactly. */
  async resolve(place: Place): Promise<readonly string[] | Refusal> {
    if (isAddress(place.host)) {
      const isOpen = this.#mayLeadInside(place) || kindOfAddress(place.host, this.#ownAddresses()) === "public";
      return isOpen ? [place.host] : this.#refuseInside(place);
    }
    const found = await this.#names.resolve(place.host).catch(() => []);
    if (found.length === 0) return new Refusal("no-address", `The name ${place.host} leads to no address.`);
    // What is dialled is spelled as what was judged; an address of one interface alone (fe80::1%eth0) has no such spelling.
    const addresses = found.flatMap((address) => toCanonicalHost(address) ?? []).filter(isAddress);
    if (addresses.length < found.length) return closedAddress(place);
    return this.#judge(place, addresses) ?? addresses;
  }

  #judge(place: Place, addresses: readonly string[]): Refusal | undefined {
    const own = this.#ownAddresses();
    const kinds = addresses.map((address) => kindOfAddress(address, own));
    if (kinds.every((kind) => kind === "public")) return undefined;
    if (kinds.includes("public")) return mixedAddresses(place);
    if (kinds.includes("closed")) return closedAddress(place);
    return this.#mayLeadInside(place) ? undefined : this.#refuseInside(place);
  }

  /** What leads to a private address needs a rule that names the place exactly, also after a change. */
  #mayStayAt({ place, address }: Flow): boolean {
    if (address === undefined || kindOfAddress(address, this.#ownAddresses()) === "public") return true;
    return this.#mayLeadInside(place);
  }

  #mayLeadInside({ host, port }: Place): boolean {
    const isNamed = (table: PolicyTable): boolean => table.find(host, port).some((allowance) => allowance.isExact);
    return isNamed(this.#table) && isNamed(this.#inside);
  }

  #refuseInside(place: Place): Refusal {
    const isNamed = this.find(place).some((allowance) => allowance.isExact);
    return isNamed ? notGrantedInside(place) : privateAddress(this.sandboxId, place);
  }

  /** Asking the kernel for each connection would cost more than judging it. */
  #ownAddresses(): ReadonlySet<string> {
    const now = performance.now();
    if (!this.#own || this.#own.until < now) this.#own = { addresses: ownAddresses(), until: now + OWN_ADDRESSES_MS };
    return this.#own.addresses;
  }

  #isOwn(address: string): boolean {
    return isOwnAddress(address, this.#ownAddresses());
  }

  /** Asked once more when the connection stands: a listener is known before anybody can connect to it, but it may have come meanwhile. */
  async #leadsToUs({ socket, address }: DialResult): Promise<boolean> {
    // The kernel gives a connection that stays on this machine the address that it goes to, unless that is of loopback.
    const stays = this.#isOwn(address) || socket.localAddress === socket.remoteAddress;
    return stays && this.#isOurs(socket.remotePort ?? 0);
  }

  /** What cannot be told is taken for one of ours. */
  #isOurs(port: number): Promise<boolean> {
    return this.#options.listeners.has(port).catch((error: unknown) => {
      this.#options.onFault?.(error, this.sandboxId);
      return true;
    });
  }

  /** A connection to where the flow's place leads. The caller owns the socket. */
  async dial(flow: Flow): Promise<Socket | Refusal> {
    const { host, port } = flow.place;
    const addresses = await this.resolve(flow.place);
    if (addresses instanceof Refusal) return addresses;
    flow.address = addresses[0];
    if (addresses.some((address) => this.#isOwn(address)) && (await this.#isOurs(port))) return ownListener(flow.place);
    const dialled = await dialFirst(addresses, port, AbortSignal.timeout(this.limits.dialMs));
    if (typeof dialled === "string") {
      this.#names.forget(host);
      return unreachable(dialled, flow.place);
    }
    flow.address = dialled.address;
    if (await this.#leadsToUs(dialled)) {
      dialled.socket.destroy();
      return ownListener(flow.place);
    }
    this.#names.prefer(host, dialled.address, addresses);
    return dialled.socket;
  }
}

function insideTable({ inside }: EgressState): PolicyTable | undefined {
  return inside === undefined ? undefined : new PolicyTable(inside);
}

const WHAT_HAPPENED: Partial<Record<Reason, string>> = {
  "connection-refused": "refuses connections",
  "timed-out": "did not answer in time",
  reset: "closed the connection before it answered",
  "bad-certificate": "has a certificate that is not valid for it",
  "bad-response": "answered with what is no valid HTTP, or what cannot be searched for secrets",
};

export function unreachable(reason: Reason, { host, port }: Place): Refusal {
  return new Refusal(reason, `${toAuthority(host, port)} ${WHAT_HAPPENED[reason] ?? "cannot be reached"}.`);
}
