import { malformed } from "./fields.ts";

/** Counts the bytes that may still be sent on one channel. */
export class SendWindow {
  readonly #size: number;
  #left: number;

  constructor(size: number) {
    this.#size = size;
    this.#left = size;
  }

  /** Takes up to `wanted` bytes from the window, and returns their number. 0 means: wait for a grant. */
  take(wanted: number): number {
    const taken = Math.min(wanted, this.#left);
    this.#left -= taken;
    return taken;
  }

  /** Throws `GUEST_PROTOCOL` if the credit exceeds the bytes that were sent. */
  grant(bytes: number): void {
    if (this.#left + bytes > this.#size) throw malformed("credit for bytes that were never sent");
    this.#left += bytes;
  }
}

/** Holds a sender to its window. Credit goes back in halves of the window, so that a short stream costs no CREDIT frame. */
export class ReceiveWindow {
  readonly #size: number;
  #left: number;
  #taken = 0;

  constructor(size: number) {
    this.#size = size;
    this.#left = size;
  }

  /** Throws `GUEST_PROTOCOL` if the sender had no credit for these bytes. */
  receive(bytes: number): void {
    if (bytes > this.#left) throw malformed("data beyond the credit");
    this.#left -= bytes;
  }

  /** Counts bytes that the consumer took. Returns the credit to send now, or 0. */
  take(bytes: number): number {
    this.#taken += bytes;
    if (this.#taken * 2 < this.#size) return 0;
    const credit = this.#taken;
    this.#taken = 0;
    this.#left += credit;
    return credit;
  }
}
