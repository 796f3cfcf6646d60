import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { SecureContext } from "node:tls";
import type { ErrorCode } from "../../errors.ts";
import type { Principal, TokenSurface } from "../../sandbox/sandbox.ts";
import type { Route } from "../routes/route.ts";
import type { Upgrade, UpgradeRoute } from "../routes/upgrade-route.ts";

/**
 * Which requests a surface answers. The host name decides before a header, and a header before the path, so that a page under the
 * host name of a sandbox cannot steer to another surface.
 */
export interface Reach {
  /**
   * Every request under these host names. `*.` at the beginning stands for any labels, `*` after a beginning, as in `49983-*.localhost`, for
   * the rest of one label. `NAME/PATH` is that path alone, with all below it. Of two that fit the longer one decides.
   */
  readonly hosts?: readonly string[];
  /** Host names of the same form for clients that ask by TLS alone: without it a request under them is not this surface's. */
  readonly tls?: SecureHosts;
  /**
   * Every request with one of these headers, under whichever path. Lower case. `NAME: VALUE` is the header with that value alone, `NAME/PATH`
   * that path alone, with all below it. Of two that fit the longer one decides.
   */
  readonly headers?: readonly string[];
  /** Paths, with all below them. Of two that fit the longer one decides; `/` is every path that is nobody else's. */
  readonly prefixes?: readonly string[];
}

/** The server's port takes both, TLS and plain HTTP, when a surface has such hosts. */
export interface SecureHosts {
  readonly hosts: readonly string[];
  readonly certificates: Certificates;
}

export interface Certificates {
  /** Of a name that the surface claims, as a client names it (SNI). Asked for each connection. What it throws ends the handshake. */
  contextFor(name: string): SecureContext;
}

/** How a surface knows its callers. */
export interface Authentication {
  /** The surface that a token must open. Default: `belljar`. */
  readonly opens?: TokenSurface;
  /** `loopback`: while only this machine reaches the server, a caller without a token is the local user. `never`: it is refused there too. */
  readonly localUser: "loopback" | "never";
  /**
   * The token that the headers carry: undefined without one, the empty text for one that cannot be read.
   * Default: that of `Authorization: Bearer`, which a refusal then asks for.
   */
  readonly tokenOf?: (headers: IncomingHttpHeaders) => string | undefined;
  /**
   * Knows a caller by the whole request, in the place of a token: whoever holds the key of what is asked for. Undefined: nobody. Rejects with
   * the error of whatever the request asks for.
   */
  readonly identify?: (request: IncomingMessage) => Promise<Principal | undefined>;
}

/** A refusal or a failure, before a surface gives it its own form. */
export interface Failure {
  readonly status: number;
  readonly code: ErrorCode;
  readonly message: string;
  readonly retryable: boolean;
  readonly requestId: string;
  /** The body is not well-formed. */
  readonly isUnreadable: boolean;
}

/** The body of a failed answer, as JSON; a text is sent as it is. */
export type ErrorShape = (failure: Failure, request: FailedRequest) => unknown;
export type FailedRequest = Pick<IncomingMessage, "method" | "url" | "headers">;

/**
 * One of the server's ways in. The origin holds for each of its routes what every route needs: one Host, no page of another site,
 * a known caller with the scopes that the route declares, a line of the audit for each change, and the metrics.
 */
export interface RoutedSurface {
  readonly kind: "routed";
  /** As the table of roots names it. */
  readonly name: string;
  readonly reach: Reach;
  readonly authentication: Authentication;
  /**
   * `none`: pages of other sites are refused. `any`: every page may ask and read the answers, never with a browser's credentials; only
   * for a surface without a local user, since a page could else act as this one.
   */
  readonly cors: "none" | "any";
  readonly shapeError: ErrorShape;
  /** The status of a failed answer, where others have given it. Default: that of the table of errors. */
  readonly statusOf?: (failure: Failure, request: FailedRequest) => number;
  readonly routes: readonly Route[];
  /** What leaves HTTP here. */
  readonly upgrades?: readonly UpgradeRoute[];
  /** Ends its work: takes nothing new, lets what is under way end for at most `graceMs`. */
  close?(graceMs: number): Promise<void>;
}

/** A surface that gets its requests before anything looks at them: no parser, no limit, no guard. It answers for all of these itself. */
export interface RawSurface {
  readonly kind: "raw";
  readonly name: string;
  readonly reach: Reach;
  handle(request: IncomingMessage, response: ServerResponse): void;
  upgrade(upgrade: Upgrade): void;
  /** Ends every connection at once. */
  close(): void;
}

export type Surface = RoutedSurface | RawSurface;
