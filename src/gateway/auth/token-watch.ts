import type { EventEmitter } from "node:events";
import type { IncomingMessage } from "node:http";
import { mapLimit } from "../../async/map-limit.ts";
import { BelljarError } from "../../errors.ts";
import type { Authenticate } from "./authenticate.ts";

/** How often the tokens of what is being served are looked at. */
const LOOK_MS = 5_000;
/** A token that cannot be checked for so many looks, as while its issuer does not answer, counts as ended. */
const FAILED_LOOKS_MAX = 12;
/** How many tokens are checked together: one that waits for its issuer must not hold the others up. */
const PARALLEL = 16;

/** Ends what a token has opened some seconds after it was revoked or has expired: calls and streams may last for hours. */
export interface TokenWatch {
  /** `exchange` closes when the request is served: its response, or the socket that has left HTTP. */
  add(request: IncomingMessage, exchange: EventEmitter): void;
}

export interface TokenWatchOptions {
  readonly authenticate: Authenticate;
  /** Requests with the same key end together. */
  readonly keyOf: (request: IncomingMessage) => unknown;
}

/** The timer runs while anything is being served. */
export function createTokenWatch({ authenticate, keyOf }: TokenWatchOptions): TokenWatch {
  const served = new Map<unknown, Holder>();
  let timer: NodeJS.Timeout | undefined;
  let isLooking = false;
  const forget = (key: unknown, request: IncomingMessage): void => {
    const holder = served.get(key);
    holder?.requests.delete(request);
    if (holder?.requests.size === 0) served.delete(key);
    if (served.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
  const look = async (): Promise<void> => {
    if (isLooking) return;
    isLooking = true;
    await mapLimit([...served.values()], PARALLEL, (holder) => endIfOver(holder, authenticate));
    isLooking = false;
  };
  return {
    add(request, exchange) {
      // Its exchange has closed already, and says so to nobody any more.
      if (request.socket.destroyed) return;
      const key = keyOf(request);
      const holder = served.get(key) ?? { requests: new Set(), failedLooks: 0 };
      served.set(key, holder);
      holder.requests.add(request);
      exchange.once("close", () => forget(key, request));
      timer ??= setInterval(() => void look(), LOOK_MS).unref();
    },
  };
}

/** What one key has opened. */
interface Holder {
  readonly requests: Set<IncomingMessage>;
  failedLooks: number;
}

async function endIfOver(holder: Holder, authenticate: Authenticate): Promise<void> {
  const [request] = holder.requests;
  if (!request) return;
  const look = await lookAt(request, authenticate);
  holder.failedLooks = look === "failed" ? holder.failedLooks + 1 : 0;
  if (look === "good" || (look === "failed" && holder.failedLooks <= FAILED_LOOKS_MAX)) return;
  for (const { socket } of holder.requests) socket.destroy();
}

function lookAt(request: IncomingMessage, authenticate: Authenticate): Promise<"good" | "over" | "failed"> {
  return authenticate(request).then(
    () => "good",
    (error: unknown) =>
      error instanceof BelljarError && (error.code === "UNAUTHORIZED" || error.code === "FORBIDDEN") ? "over" : "failed",
  );
}
