import type { Guest } from "../runtime/guest/guest.ts";
import type { NetworkPolicy } from "./policy.ts";
import type { SecretGuard } from "./secrets/secret-guard.ts";

/** The way out of all sandboxes that this process holds. Disposing it closes every connection. */
export interface Egress extends AsyncDisposable {
  /** Serves a sandbox's way out until the service is disposed or the sandbox ends. Never throws. */
  serve(sandbox: EgressSandbox, state: EgressState): EgressService;
}

export interface EgressSandbox {
  readonly id: string;
  /** The owner's id. */
  readonly owner: string;
  readonly guest: Guest;
}

/** The state that may change while a sandbox is served. */
export interface EgressState {
  readonly policy: NetworkPolicy;
  /** If given, a rule reaches a place outside the public Internet only if this policy names that place exactly too. */
  readonly inside?: NetworkPolicy;
  /** Present if the sandbox has secrets, or rules that require reading its traffic. */
  readonly guard?: SecretGuard;
  /** With the policy `none`, programs are answered too: each is told its refusal, and the refusal is recorded. Nothing is dialled. */
  readonly answersClosed?: boolean;
}

export interface EgressService extends AsyncDisposable {
  /**
   * Resolves once programs inside can connect, because this or another process serves them. Resolves at once for the policy `none`.
   * Rejects if the guest cannot listen, for example because a program inside holds the proxy's port.
   */
  readonly ready: Promise<void>;
  /** Applies a new state from now on. Open connections that the new policy forbids are closed. */
  update(state: EgressState): void;
}
