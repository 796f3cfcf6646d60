import { malformed } from "./fields.ts";

/** How many bytes of one channel may still be sent. */
export class SendWindow {
  readonly #size: number;
  #left: number;

  constructor(size: number) {
    this.#size = size;
    this.#left = size;
  }

  /** Takes as much of `wanted` as the window has; 0 means wait for a grant. */
  take(wanted: number): number {
    const taken = Math.min(wanted, this.#left);
    this.#left -= taken;
    return taken;
  }

  /** Throws `GUEST_PROTOCOL` when more comes back than was sent. */
  grant(bytes: number): void {
    if (this.#left + bytes > this.#size) throw malformed("credit for bytes that were never sent");
    this.#left += bytes;
  }
}

/** Holds a sender to its window, and says when to grant more: in halves of the window, so that short streams cost no frame. */
export class ReceiveWindow {
  readonly #size: number;
  #left: number;
  #taken = 0;

  constructor(size: number) {
    this.#size = size;
    this.#left = size;
  }

  /** Throws `GUEST_PROTOCOL` when the sender had no credit for these bytes. */
  receive(bytes: number): void {
    if (bytes > this.#left) throw malformed("data beyond the credit");
    this.#left -= bytes;
  }

  /** The consumer took these bytes. Returns the credit to send now, or 0. */
  take(bytes: number): number {
    this.#taken += bytes;
    if (this.#taken * 2 < this.#size) return 0;
    const credit = this.#taken;
    this.#taken = 0;
    this.#left += credit;
    return credit;
  }
}
