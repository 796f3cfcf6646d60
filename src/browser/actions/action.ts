import type * as z from "zod";

/**
 * What a caller may ask of a browser. It is known on both sides: the server checks what goes in and what comes back, and the program inside the
 * sandbox does it (`driver/actions/`). Answers hold no value without a schema: whoever drives the driver must not choose their shape.
 */
export interface BrowserAction<Args = never, Value = unknown> {
  readonly name: string;
  readonly args: z.ZodType<Args>;
  readonly value: z.ZodType<Value>;
  /** It waits for no other call of its tab, as one that answers the dialog which holds that call must not. Default false. */
  readonly isUrgent?: boolean;
  /** How long it may take by what is asked for. Default `ACTION_MS` of `Browsers`. */
  readonly timeMs?: (args: Args) => number | undefined;
}

export function defineAction<Args, Value>(action: BrowserAction<Args, Value>): BrowserAction<Args, Value> {
  return action;
}
