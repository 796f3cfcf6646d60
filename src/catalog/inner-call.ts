import { BelljarError } from "../errors.ts";
import { type CallClient, unreachable } from "./question.ts";
import type { InnerCallOptions, Progress, Tool } from "./tool.ts";

/** What of an outer call holds for one inside it. */
export interface OuterCall extends Pick<InnerCallOptions, "isForeign"> {
  readonly signal: AbortSignal;
  readonly client?: CallClient;
  readonly progress?: ((progress: Progress) => void) | undefined;
}

/** The outer call, as one inside it has it. */
export function innerCall<Outer extends OuterCall>(outer: Outer, { signal, isForeign }: InnerCallOptions = {}): Outer {
  const { isForeign: _outer, progress, ...call } = outer;
  return {
    ...call,
    // A client hears one row of reports, which only grows: it is the code's own.
    ...(progress && !isForeign && { progress }),
    ...(outer.client && isForeign && { client: SILENT }),
    ...(signal && { signal: AbortSignal.any([outer.signal, signal]) }),
    ...(isForeign && { isForeign }),
  } as Outer;
}

/** Throws `FORBIDDEN` for a tool whose call is another one's, which no code of a user's has declared. */
export function assertForCode({ name, delegates, role }: Tool): void {
  if (!delegates && role !== "discovery") return;
  throw new BelljarError("FORBIDDEN", `The code of a tool does not call ${name}, which calls or finds others: name the tool itself`);
}

/** The person is there for the caller's own calls, and so are the sessions of the client: a code that calls itself does not wait for its own. */
const SILENT: CallClient = { ask: () => Promise.reject(unreachable()) };
