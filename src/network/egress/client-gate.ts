import { createSecureContext, rootCertificates } from "node:tls";
import { BelljarError } from "../../errors.ts";
import type { ConnectionRecord } from "../connection-record.ts";
import type { EgressState } from "../egress.ts";
import { toCanonicalHost } from "../host-name.ts";
import { DEFAULT_LIMITS, type EgressLimits, type EgressOptions } from "./egress-options.ts";
import { Gate } from "./gate.ts";
import type { Place } from "./refusal.ts";
import { createSystemResolver } from "./resolver.ts";
import type { UpstreamTrust } from "./upstream-agent.ts";

/** The way out of Belljar's own requests for a caller. */
export interface ClientGateOptions extends Pick<EgressOptions, "listeners" | "resolver" | "upstreamCa"> {
  /** The caller's id. */
  readonly owner: string;
  /** The caller's network policy, which judges every request. */
  readonly state: Pick<EgressState, "policy" | "inside">;
  readonly limits?: Partial<Pick<EgressLimits, "dialMs" | "pinMs">>;
  /** Called once at the end of each request or connection. Must not throw. */
  readonly record: (record: ClientRecord) => void;
}

/** A request of Belljar itself. It belongs to no sandbox. */
export type ClientRecord = Omit<ConnectionRecord, "sandbox" | "via">;

export function openClientGate({ owner, state, record, listeners, resolver, limits }: ClientGateOptions): Gate {
  return new Gate(
    {
      sandbox: { id: "", owner },
      resolver: resolver ?? createSystemResolver(),
      limits: { ...DEFAULT_LIMITS, ...limits },
      listeners,
      allowances: [],
      nameAt: () => undefined,
      record: ({ sandbox: _none, via: _http, ...rest }) => record(rest),
    },
    state,
  );
}

export function trustOf({ upstreamCa }: Pick<ClientGateOptions, "upstreamCa">): UpstreamTrust {
  return upstreamCa ? { secureContext: createSecureContext({ ca: [...rootCertificates, ...upstreamCa] }) } : {};
}

/** Throws `NETWORK_DENIED` for a URL that names no place. */
export function placeOf(url: URL): Place {
  const host = toCanonicalHost(url.hostname);
  const isPlain = (url.protocol === "https:" || url.protocol === "http:") && url.username === "" && url.password === "";
  if (host === undefined || !isPlain)
    throw new BelljarError("NETWORK_DENIED", "Belljar asks only http and https URLs of a host, without a user and a password in them");
  return { host, port: Number(url.port) || (url.protocol === "https:" ? 443 : 80) };
}
