import type { Principal } from "../sandbox/sandbox.ts";
import type { Tool } from "./tool.ts";

/** Who may call what. */
export interface Policy {
  /** Throws `FORBIDDEN` with what to do about it. */
  authorise(principal: Principal, tool: Tool): Promise<void> | void;
}

/** How much at once, and how much in all. */
export interface Quota {
  /** Throws `QUOTA_EXCEEDED`; else the place is held until it is disposed. Without a tool it is work that counts as a call. */
  enter(principal: Principal, tool?: Tool): Promise<QuotaHold> | QuotaHold;
}

export interface QuotaHold extends Disposable {
  /** So large was the result. */
  count(resultBytes: number): void;
}

export const UNCOUNTED: QuotaHold = { count: () => undefined, [Symbol.dispose]: () => undefined };

export const ALLOW_ALL: Policy = { authorise: () => undefined };
export const NO_QUOTA: Quota = { enter: () => UNCOUNTED };
