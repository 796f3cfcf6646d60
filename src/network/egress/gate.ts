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
  addressOfName,
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
  /** The allowance of the sandbox, and the allowance of its owner. */
  readonly allowances: readonly Allowance[];
  /** The name for which an address stands inside the sandbox now: see `NameAddresses`. */
  readonly nameAt: (address: string) => string | undefined;
  readonly record: (record: ConnectionRecord) => void;
  readonly onFault?: (error: unknown, sandbox: string) => void;
}

/** A new address of this machine is known after this time. */
const OWN_ADDRESSES_MS = 2_000;

/** Decides what one sandbox may reach, and opens all its connections. It knows every open flow. */
export class Gate {
  readonly sandboxId: string;
  readonly limits: EgressLimits;
  readonly #options: GateOptions;
  readonly #names: PinnedNames;
  readonly #flows = new Set<Flow>();
  readonly #closed = new AbortController();
  #table: PolicyTable;
  /** The places outside the public Internet that rules may reach: see `EgressState.inside`. */
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

  /** Increases with each change of the state. Kept connections of an earlier generation were judged by an earlier policy. */
  get generation(): number {
    return this.#generation;
  }

  get isAll(): boolean {
    return this.#table.isAll;
  }

  /** Applies a new state from now on. Flows that are no longer allowed are cut. */
  update(state: EgressState): void {
    this.#table = new PolicyTable(state.policy);
    this.#inside = insideTable(state) ?? this.#table;
    this.#guard = state.guard;
    this.#generation += 1;
    const refusal = new Refusal("policy-changed", "The sandbox's network policy changed and no longer allows this connection.");
    for (const flow of this.#flows) if (!flow.isStillAllowed() || !this.#mayStayAt(flow)) flow.stop(refusal);
  }

  /** Ends every flow, because the sandbox has ended. */
  close(): void {
    this.#closed.abort();
    for (const flow of this.#flows) {
      flow.end();
      flow.cut(new Refusal("reset", "The sandbox ended."));
    }
  }

  /** Reports an internal error. Errors with a code come from broken streams. They are normal, and not reported. */
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
    return this.#refuseAddressOfName(place) ?? noRule(this.sandboxId, place, request);
  }

  /** Returns true if TLS to this place is decrypted: for a secret, or because every allowance has conditions. */
  readsTls({ host, port }: Place): boolean {
    if (this.#guard?.terminates(host, port)) return true;
    const allowances = forScheme(this.find({ host, port }), "https");
    return allowances.length > 0 && allowances.every(isConditional);
  }

  /**
   * Resolves when the next request of the sandbox may begin, or when the sandbox has ended. It limits requests on kept connections, which
   * are counted only once as connections. Requests wait and are not refused, so that each has its line in the audit.
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

  /** Records a refusal as a flow that never began. */
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

  /** Resolves a place and judges its addresses. A private address is refused unless a rule names the place exactly. */
  async resolve(place: Place): Promise<readonly string[] | Refusal> {
    const refusal = this.#refuseAddressOfName(place);
    if (refusal) return refusal;
    if (isAddress(place.host)) {
      const isOpen = this.#mayLeadInside(place) || kindOfAddress(place.host, this.#ownAddresses()) === "public";
      return isOpen ? [place.host] : this.#refuseInside(place);
    }
    const found = await this.#names.resolve(place.host).catch(() => []);
    if (found.length === 0) return new Refusal("no-address", `The name ${place.host} leads to no address.`);
    // The dialled address is spelled like the judged address. An address with a zone (fe80::1%eth0) has no canonical spelling.
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

  /** A flow to a private address needs a rule that names its place exactly, even after a change of the policy. */
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

  /** Inside, such an address stands for a name. On the host the same address is another computer, which the program does not mean. */
  #refuseAddressOfName(place: Place): Refusal | undefined {
    const name = this.#options.nameAt(place.host);
    return name === undefined ? undefined : addressOfName(place, name);
  }

  /** Cached, because asking the kernel costs more than judging a connection. */
  #ownAddresses(): ReadonlySet<string> {
    const now = performance.now();
    if (!this.#own || this.#own.until < now) this.#own = { addresses: ownAddresses(), until: now + OWN_ADDRESSES_MS };
    return this.#own.addresses;
  }

  #isOwn(address: string): boolean {
    return isOwnAddress(address, this.#ownAddresses());
  }

  /** Asked again once the connection is open, because a listener of Belljar may have been claimed meanwhile. */
  async #leadsToUs({ socket, address }: DialResult): Promise<boolean> {
    // If a connection stays on this machine, its local address equals its remote address, except on loopback.
    const stays = this.#isOwn(address) || socket.localAddress === socket.remoteAddress;
    return stays && this.#isOurs(socket.remotePort ?? 0);
  }

  /** If the answer is unknown, the port counts as Belljar's. */
  #isOurs(port: number): Promise<boolean> {
    return this.#options.listeners.has(port).catch((error: unknown) => {
      this.#options.onFault?.(error, this.sandboxId);
      return true;
    });
  }

  /** Connects to the flow's place. The caller owns the socket. */
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
  "bad-response": "answered with invalid HTTP, or with a body that cannot be searched for secrets",
};

export function unreachable(reason: Reason, { host, port }: Place): Refusal {
  return new Refusal(reason, `${toAuthority(host, port)} ${WHAT_HAPPENED[reason] ?? "cannot be reached"}.`);
}
