import type { EventEmitter } from "node:events";
import type { IncomingMessage } from "node:http";
import { BelljarError } from "../../errors.ts";
import type { Principal } from "../../sandbox/sandbox.ts";
import type { AuthenticateOptions } from "./authenticate.ts";
import { bearerOf, createAuthenticate } from "./authenticate.ts";
import { createTokenWatch } from "./token-watch.ts";

/** Who sent each request that is being served. */
export interface Callers {
  /**
   * Rejects with `UNAUTHORIZED`; before anything else is done for a request. `exchange` closes when it is served: its response, or the
   * socket that leaves HTTP. Before that, the connection is ended if the token ends.
   */
  admit(request: IncomingMessage, exchange: EventEmitter): Promise<Principal>;
  /** Undefined for a request that was not admitted. */
  find(request: IncomingMessage): Principal | undefined;
  /** Of a request that was admitted. */
  of(request: IncomingMessage): Principal;
}

export function createCallers({ tokenOf = bearerOf, ...options }: AuthenticateOptions): Callers {
  const admitted = new WeakMap<IncomingMessage, Principal>();
  const authenticate = createAuthenticate({ ...options, tokenOf });
  const keyOf = (request: IncomingMessage): unknown => (options.identify ? request : (tokenOf(request.headers) ?? ""));
  const tokens = createTokenWatch({ authenticate, keyOf });
  return {
    async admit(request, exchange) {
      assertOneToken(request);
      const principal = await authenticate(request);
      admitted.set(request, principal);
      // The local user has no token that could end.
      if (!principal.isAnybody) tokens.add(request, exchange);
      return principal;
    },
    find: (request) => admitted.get(request),
    of(request) {
      const principal = admitted.get(request);
      // Fails closed: a route that forgot to admit its requests serves none.
      if (!principal) throw new TypeError("A request is served that was never admitted");
      return principal;
    },
  };
}

/** Of two readers of a request, as a proxy in front and this server, each could believe another one of two. Throws `UNAUTHORIZED`. */
function assertOneToken({ headersDistinct }: IncomingMessage): void {
  if ((headersDistinct["authorization"]?.length ?? 0) <= 1) return;
  throw new BelljarError("UNAUTHORIZED", "Send one Authorization header");
}
