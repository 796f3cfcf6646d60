import { BelljarError } from "../../errors.ts";

/** Whose connections they are. Without an owner the sandbox counts alone. */
export interface Connected {
  readonly sandbox: string;
  readonly owner?: string | undefined;
}

export interface ConnectionLimits {
  readonly ofSandbox: number;
  readonly ofOwner: number;
}

const LIMITS: ConnectionLimits = { ofSandbox: 1_024, ofOwner: 4_096 };

/** Counts requests and connections over all ports of a sandbox, and over all sandboxes of an owner. */
export class ConnectionShares {
  readonly #limits: ConnectionLimits;
  readonly #counts = new Map<string, number>();

  constructor(limits = LIMITS) {
    this.#limits = limits;
  }

  /** Counts until the returned function is called. Throws `QUOTA_EXCEEDED`. */
  take({ sandbox, owner }: Connected): () => void {
    const keys = [`sandbox ${sandbox}`, ...(owner === undefined ? [] : [`owner ${owner}`])];
    this.#assertRoom(keys[0], this.#limits.ofSandbox, "The ports of this sandbox have");
    this.#assertRoom(keys[1], this.#limits.ofOwner, "The ports of your sandboxes have");
    for (const key of keys) this.#change(key, 1);
    let isDone = false;
    return () => {
      if (!isDone) for (const key of keys) this.#change(key, -1);
      isDone = true;
    };
  }

  #assertRoom(key: string | undefined, most: number, what: string): void {
    if (key === undefined || (this.#counts.get(key) ?? 0) < most) return;
    throw new BelljarError("QUOTA_EXCEEDED", `${what} ${most} connections already: close some, or wait for them`);
  }

  #change(key: string, by: 1 | -1): void {
    const count = (this.#counts.get(key) ?? 0) + by;
    if (count === 0) this.#counts.delete(key);
    else this.#counts.set(key, count);
  }
}
