/** Calls that a person must approve, and those that one has approved. */
export interface CallApprovals {
  /** Uses the approval of exactly this call up. False: there is none that holds. Of several that ask at once, one gets it. */
  take(call: NamedCall): Promise<boolean>;
  /**
   * Keeps what a person is to decide, and answers the id by which the person names it. Rejects with `QUOTA_EXCEEDED` while too many wait, and
   * with `FORBIDDEN` for one that is too long to be shown.
   */
  wait(call: NamedCall, shown: string): Promise<string>;
}

/** One call, exactly as it is to be made. */
export interface NamedCall {
  /** The principal's id. */
  readonly principal: string;
  readonly tool: string;
  readonly arguments: unknown;
}

/** A call that waits for a person, or for whoever makes it again. */
export interface WaitingCall {
  readonly id: string;
  readonly principal: string;
  readonly tool: string;
  /** What the person decides about, in lines. */
  readonly shown: string;
  readonly until: Date;
  readonly isApproved: boolean;
}
