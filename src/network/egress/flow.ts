import type { ConnectionRecord } from "../connection-record.ts";
import type { Place, Refusal } from "./refusal.ts";

export interface FlowStart {
  readonly via: ConnectionRecord["via"];
  readonly place: Place;
}

export interface FlowOwner {
  /** False once the bounds are used up. */
  takeBytes(count: number): boolean;
  ended(flow: Flow, summary: FlowSummary | undefined): void;
  overdrawn(flow: Flow): void;
}

export type FlowSummary = Pick<
  ConnectionRecord,
  "via" | "host" | "port" | "address" | "verdict" | "rule" | "reason" | "sentBytes" | "receivedBytes" | "durationMs"
>;

const HOST_SHOWN = 255;

/** One connection or request: what is counted of it, and how it is cut. It is over once. */
export class Flow {
  readonly place: Place;
  rule: string | undefined;
  address: string | undefined;
  /** Whether it may go on under the policy in force. */
  isStillAllowed: () => boolean = () => true;
  /** Closes what it holds and tells the program why, where it can still be told. */
  cut: (refusal: Refusal) => void = () => {};
  /** What it carries is recorded piece by piece: it has a line of its own only when it is refused. */
  isQuiet = false;
  readonly #via: FlowStart["via"];
  readonly #owner: FlowOwner;
  readonly #startedAt = performance.now();
  #sentBytes = 0;
  #receivedBytes = 0;
  #isOver = false;

  constructor(owner: FlowOwner, { via, place }: FlowStart) {
    this.#owner = owner;
    this.#via = via;
    this.place = place;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  sent(bytes: number): void {
    this.#sentBytes += bytes;
    this.#count(bytes);
  }

  received(bytes: number): void {
    this.#receivedBytes += bytes;
    this.#count(bytes);
  }

  /** The first call tells how it ended: without a refusal, that it was allowed. */
  end(refusal?: Refusal): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#owner.ended(this, this.isQuiet && !refusal ? undefined : this.#summarise(refusal));
  }

  #summarise(refusal: Refusal | undefined): FlowSummary {
    return {
      via: this.#via,
      host: this.place.host.slice(0, HOST_SHOWN),
      port: this.place.port,
      ...(this.address !== undefined && { address: this.address }),
      verdict: refusal?.verdict ?? "allowed",
      ...(this.rule !== undefined && { rule: this.rule }),
      ...(refusal && { reason: refusal.reason }),
      sentBytes: this.#sentBytes,
      receivedBytes: this.#receivedBytes,
      durationMs: performance.now() - this.#startedAt,
    };
  }

  /** Ends it and closes what it holds. */
  stop(refusal: Refusal): void {
    if (this.#isOver) return;
    this.end(refusal);
    this.cut(refusal);
  }

  #count(bytes: number): void {
    if (!this.#owner.takeBytes(bytes) && !this.#isOver) this.#owner.overdrawn(this);
  }
}
