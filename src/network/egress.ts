import type { Guest } from "../runtime/guest/guest.ts";
import type { NetworkPolicy } from "./policy.ts";
import type { SecretGuard } from "./secrets/secret-guard.ts";

/** The way out of sandboxes: one for a process, for all the sandboxes that it holds. Disposing it closes every connection. */
export interface Egress extends AsyncDisposable {
  /** Serves a sandbox's way out until it is disposed or the sandbox ends. Never throws. */
  serve(sandbox: EgressSandbox, state: EgressState): EgressService;
}

export interface EgressSandbox {
  readonly id: string;
  /** The owner's id. */
  readonly owner: string;
  readonly guest: Guest;
}

/** What may change while it is served. */
export interface EgressState {
  readonly policy: NetworkPolicy;
  /** Rules lead to places that are not of the public Internet only where this names them exactly too. Absent: wherever they do so themselves. */
  readonly inside?: NetworkPolicy;
  /** Present when the sandbox has secrets, or rules that need its traffic read. */
  readonly guard?: SecretGuard;
}

export interface EgressService extends AsyncDisposable {
  /**
   * Settles once programs inside can connect, because this process or another one serves them; at once for `none`.
   * Rejects when the guest cannot listen, as when a program inside holds the proxy's port.
   */
  readonly ready: Promise<void>;
  /** From now on; live connections that the new policy forbids are closed. */
  update(state: EgressState): void;
}
