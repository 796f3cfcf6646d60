import { setTimeout as wait } from "node:timers/promises";
import { TOKEN_BYTES } from "../../../files/json-tokens.ts";
import { MESSAGE_MAX_BYTES, MESSAGE_TOKENS } from "./message-lines.ts";

/** Of what a server says while nobody asks it: so much at once, and then so much a second, which keeps this process busy for a tenth of the time. */
const SAVED_MAX = 64 * 1_048_576;
const A_SECOND = 8 * 1_048_576;
/** What a request may be answered with, as much as one message can weigh. */
const ANSWER = MESSAGE_MAX_BYTES + MESSAGE_TOKENS.max * TOKEN_BYTES;

/** How fast a server is read. One that talks without end waits by itself: at this pace it holds up nobody else. */
export class Pace {
  #left = SAVED_MAX;
  #at = performance.now();

  /** A request was sent. */
  asked(): void {
    this.#left = Math.min(SAVED_MAX, this.#left + ANSWER);
  }

  /** For so many milliseconds nothing more is to be read from whoever has sent so many bytes and tokens of JSON. */
  took(bytes: number, tokens: number): number {
    const now = performance.now();
    this.#left = Math.min(SAVED_MAX, this.#left + ((now - this.#at) / 1_000) * A_SECOND) - bytes - tokens * TOKEN_BYTES;
    this.#at = now;
    return Math.max(0, Math.ceil((-this.#left / A_SECOND) * 1_000));
  }

  /** Waits as long as `took` says. Undefined unless it says so. */
  next(bytes: number, tokens: number, signal?: AbortSignal): Promise<void> | undefined {
    const ms = this.took(bytes, tokens);
    return ms > 0 ? wait(ms, undefined, { ref: false, ...(signal && { signal }) }) : undefined;
  }
}
