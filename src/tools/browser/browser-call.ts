import type { BrowserAction } from "../../browser/actions/action.ts";
import type { Browsers } from "../../browser/browsers.ts";
import { ToldInside } from "../../browser/told-inside.ts";
import { markOutside } from "../../catalog/outside-text.ts";
import type { ToolContext } from "../../catalog/tool.ts";
import { BelljarError } from "../../errors.ts";
import type { Principal } from "../../sandbox/sandbox.ts";

/** Where the browsers are. */
export type BrowserSource = Pick<Browsers, "of">;

export interface BrowserCall {
  readonly context: ToolContext;
  readonly sandbox: string | undefined;
  readonly browsers: BrowserSource;
}

type Called<Value> = Awaited<ReturnType<ReturnType<BrowserSource["of"]>["call"]>> & { readonly value: Value };

/** What the driver has beyond the wish of the caller, so that its own reason comes before the deadline. */
const REASON_MS = 2_000;
const CALL_MAX_MS = 50_000;

/** Whose tabs a call goes to, as `Browsers` names them. */
export function tabsOf(principal: Pick<Principal, "id">, clientId: string | undefined): string {
  return JSON.stringify([principal.id, clientId ?? null]);
}

/** Does an action in the caller's tab: each session of a client has tabs of its own, and calls without a session share those of their principal. */
export async function callBrowser<Args extends object, Value>(
  { context, sandbox: id, browsers }: BrowserCall,
  action: BrowserAction<Args, Value>,
  args: Args & { readonly timeout_ms?: number | undefined },
): Promise<Called<Value>> {
  const { signal, principal, clientId } = context;
  const sandbox = await context.sandbox(id);
  const timeoutMs = args.timeout_ms === undefined ? action.timeMs?.(args) : Math.min(args.timeout_ms + REASON_MS, CALL_MAX_MS);
  return browsers.of(sandbox, tabsOf(principal, clientId)).call(action, args, { signal, timeoutMs }).catch(marked);
}

/** What the driver says of a failure quotes the page: its scripts, its names, its markup. */
function marked(cause: unknown): never {
  if (!(cause instanceof ToldInside)) throw cause;
  throw new BelljarError(cause.code, markOutside(cause.message), { cause });
}
