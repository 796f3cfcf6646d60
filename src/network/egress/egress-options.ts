import type { ConnectionRecord } from "../connection-record.ts";
import type { EgressBounds } from "./bounds.ts";
import type { OwnListeners } from "../own-listeners.ts";
import type { Resolver } from "./resolver.ts";

export interface EgressOptions {
  /** Called once at the end of each connection or request. Must not throw. */
  readonly record: (record: ConnectionRecord) => void;
  /** The ports on which Belljar itself listens. No rule opens them. */
  readonly listeners: Pick<OwnListeners, "has">;
  /** Called with an internal error, which has ended its connection. Must not throw. */
  readonly onFault?: (error: unknown, sandbox: string) => void;
  /** Default: the resolver of the host. */
  readonly resolver?: Resolver;
  readonly limits?: Partial<EgressLimits>;
  /** Additional certificates (PEM) that Belljar trusts for its own TLS connections to the outside. */
  readonly upstreamCa?: readonly string[];
}

export interface EgressLimits {
  readonly sandbox: EgressBounds;
  /** For all sandboxes of one owner together, in this process. */
  readonly owner: EgressBounds;
  /** An idle connection or request is closed after this time. */
  readonly idleMs: number;
  /** Maximum time for a request's head, a TLS hello or a SOCKS greeting, and of a kept connection without a request. */
  readonly headMs: number;
  /** Maximum time for resolving a name, and for connecting. */
  readonly dialMs: number;
  /** A resolved name keeps its addresses for this time. */
  readonly pinMs: number;
  /** Maximum number of names that have an address inside at the same time, for programs without a proxy. */
  readonly names: number;
}

const GIB = 1024 ** 3;

export const DEFAULT_LIMITS: EgressLimits = {
  sandbox: { connections: 256, connectionsPerSecond: 200, bytesPerDay: 100 * GIB },
  owner: { connections: 1024, connectionsPerSecond: 1000, bytesPerDay: 500 * GIB },
  idleMs: 900_000,
  headMs: 30_000,
  dialMs: 15_000,
  pinMs: 600_000,
  names: 128,
};
