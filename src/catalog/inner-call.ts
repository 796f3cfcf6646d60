import { BelljarError } from "../errors.ts";
import { type CallClient, unreachable } from "./question.ts";
import type { InnerCallOptions, Progress, Tool } from "./tool.ts";

/** What of an outer call holds for one inside it. */
export interface OuterCall extends Pick<InnerCallOptions, "isForeign" | "isApproved"> {
  readonly signal: AbortSignal;
  readonly client?: CallClient;
  readonly progress?: ((progress: Progress) => void) | undefined;
}

/** The outer call, as one inside it has it. */
export function innerCall<Outer extends OuterCall>(
  outer: Outer,
  { signal, isForeign, keepsSession, isApproved }: InnerCallOptions = {},
): Outer {
  const { isForeign: _outer, isApproved: _approved, progress, ...call } = outer;
  return {
    ...call,
    // A client hears one row of reports, which only grows: it is the code's own.
    ...(progress && !isForeign && { progress }),
    ...(outer.client && isForeign && { client: silent(keepsSession ? outer.client.id : undefined) }),
    ...(signal && { signal: AbortSignal.any([outer.signal, signal]) }),
    ...(isForeign && { isForeign }),
    ...(isApproved && { isApproved }),
  } as Outer;
}

/** Whether code of a user's may call it: none whose call is another one's, and none that changes what callers have. */
export function isForCode({ delegates, role, notForCode, callsTools }: Omit<Tool, "run">): boolean {
  return !delegates && role !== "discovery" && !notForCode && !callsTools;
}

/** Throws `FORBIDDEN` for a tool that no code of a user's calls. */
export function assertForCode(tool: Tool): void {
  if (isForCode(tool)) return;
  const advice = tool.notForCode ? "" : ", which calls or finds others: name the tool itself";
  throw new BelljarError("FORBIDDEN", `The code of a tool does not call ${tool.name}${advice}`);
}

/**
 * The person is there for the caller's own calls, and so are the sessions of the client unless the code is part of such a call: a code that
 * calls itself does not wait for its own.
 */
function silent(id: string | undefined): CallClient {
  return { ...(id !== undefined && { id }), ask: () => Promise.reject(unreachable()) };
}
