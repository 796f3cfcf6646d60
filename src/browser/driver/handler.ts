import type { Tab } from "./tab.ts";

export interface Picture {
  readonly type: "image/png" | "image/jpeg";
  readonly bytes: Buffer;
}

export interface Answer<Value> {
  /** What JSON can say. */
  readonly value: Value;
  readonly picture?: Picture;
}

/** The call that an action is done for. */
export interface Call {
  /** Aborts at the deadline, and when the caller cancels: nothing more is done to the page then. Its reason is a `DriverError`. */
  readonly signal: AbortSignal;
  /** The deadline, as `performance.now()` counts. */
  readonly endsAt: number;
}

/** What does an action inside. It knows the action's types alone: the server has checked the arguments. */
export interface Handler<Args, Value> {
  /** Of the action. */
  readonly name: string;
  readonly isUrgent?: boolean;
  /** Its tab may be closed when it is done. */
  readonly endsTab?: boolean;
  /** Broken off, it may go on beside the next call: it presses no key and no button. */
  readonly mayLinger?: boolean;
  /** Throws `DriverError`; playwright's errors are translated. */
  run(tab: Tab, args: Args, call: Call): Promise<Answer<Value>>;
}

/** A handler among others, whose arguments come from the wire. */
export type AnyHandler = Handler<never, unknown>;

export function defineHandler<Args, Value>(handler: Handler<Args, Value>): Handler<Args, Value> {
  return handler;
}
