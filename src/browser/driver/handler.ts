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

/** What does an action inside. It knows the action's types alone: the server has checked the arguments. */
export interface Handler<Args, Value> {
  /** Of the action. */
  readonly name: string;
  readonly isUrgent?: boolean;
  /** Its tab may be closed when it is done. */
  readonly endsTab?: boolean;
  /** The signal aborts at the deadline, and when the caller cancels. Throws `DriverError`; playwright's errors are translated. */
  run(tab: Tab, args: Args, signal: AbortSignal): Promise<Answer<Value>>;
}

/** A handler among others, whose arguments come from the wire. */
export type AnyHandler = Handler<never, unknown>;

export function defineHandler<Args, Value>(handler: Handler<Args, Value>): Handler<Args, Value> {
  return handler;
}
