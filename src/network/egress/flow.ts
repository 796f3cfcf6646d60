import type { ConnectionRecord } from "../connection-record.ts";
import type { Place, Refusal } from "./refusal.ts";

export interface FlowStart {
  readonly via: ConnectionRecord["via"];
  readonly place: Place;
}

export interface FlowOwner {
  /** Counts bytes. Returns false once the bounds are used up. */
  takeBytes(count: number): boolean;
  ended(flow: Flow, summary: FlowSummary | undefined): void;
  overdrawn(flow: Flow): void;
}

export type FlowSummary = Pick<
  ConnectionRecord,
  "via" | "host" | "port" | "address" | "verdict" | "rule" | "reason" | "missingRule" | "sentBytes" | "receivedBytes" | "durationMs"
>;

const HOST_SHOWN = 255;

/** One connection or request: it counts bytes, can be cut, and ends once. */
export class Flow {
  readonly place: Place;
  rule: string | undefined;
  address: string | undefined;
  /** Returns true if the current policy still allows it. */
  isStillAllowed: () => boolean = () => true;
  /** Closes its streams, and reports the reason to the program if that is still possible. */
  cut: (refusal: Refusal) => void = () => {};
  /** True if each of its requests has its own line in the audit. Then the flow has a line only if it is refused. */
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

  /** Ends the flow. Only the first call counts. Without a refusal, the flow was allowed. */
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
      ...(refusal?.missingRule !== undefined && { missingRule: refusal.missingRule }),
      sentBytes: this.#sentBytes,
      receivedBytes: this.#receivedBytes,
      durationMs: performance.now() - this.#startedAt,
    };
  }

  /** Ends the flow with a refusal, and closes its streams. */
  stop(refusal: Refusal): void {
    if (this.#isOver) return;
    this.end(refusal);
    this.cut(refusal);
  }

  #count(bytes: number): void {
    if (!this.#owner.takeBytes(bytes) && !this.#isOver) this.#owner.overdrawn(this);
  }
}
