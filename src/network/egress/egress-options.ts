import type { ConnectionRecord } from "../connection-record.ts";
import type { EgressBounds } from "./bounds.ts";
import type { OwnListeners } from "../own-listeners.ts";
import type { Resolver } from "./resolver.ts";

export interface EgressOptions {
  /** Called once for each connection or request, when it is over. Must not throw. */
  readonly record: (record: ConnectionRecord) => void;
  /** Belljar's own ports of this machine, which no rule opens. */
  readonly listeners: Pick<OwnListeners, "has">;
  /** Told of a fault of ours, which has cost the connection that met it. Must not throw. */
  readonly onFault?: (error: unknown, sandbox: string) => void;
  /** Default: as the host resolves names. */
  readonly resolver?: Resolver;
  readonly limits?: Partial<EgressLimits>;
  /** Certificates (PEM) that are trusted beside the public ones where Belljar itself speaks TLS to the outside. */
  readonly upstreamCa?: readonly string[];
}

export interface EgressLimits {
  readonly sandbox: EgressBounds;
  /** All sandboxes of one owner in this process together. */
  readonly owner: EgressBounds;
  /** A connection or request on which nothing moves for so long is closed. */
  readonly idleMs: number;
  /** The longest that a request's head, a TLS hello or a SOCKS greeting may take, and a kept connection may wait for its next request. */
  readonly headMs: number;
  /** The longest that resolving and connecting may take. */
  readonly dialMs: number;
  /** A name leads to the same addresses for so long. */
  readonly pinMs: number;
  /** Names at once for which programs without a proxy have an address. */
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
