import { isLoopback } from "../loopback.ts";
import type { Certificates, Reach } from "../surfaces/surface.ts";

/** The domain whose names clients of E2B ask by TLS: `api.NAME` and `PORT-ID.NAME`. */
export interface E2bDomain {
  /** Without a port. */
  readonly name: string;
  readonly certificates: Certificates;
}

/** The names below the domain that a surface answers, such as `api`, `api/volumecontent` or `49983-*`. Nothing without a domain. */
export function secureReach(domain: E2bDomain | undefined, ...names: readonly string[]): Pick<Reach, "tls"> {
  if (!domain) return {};
  return { tls: { hosts: names.map((name) => name.replace(/(?=\/|$)/, `.${domain.name}`)), certificates: domain.certificates } };
}

/**
 * What clients write behind `PORT-ID.`, for a client that has asked at this origin: the domain that is asked by TLS, else the origin's own
 * name, each with the port. A loopback address has no names below it: `localhost` stands for it.
 */
export function domainFor(domain: Pick<E2bDomain, "name"> | undefined, origin: string): string {
  const { protocol, hostname, port, host } = new URL(origin);
  if (domain) return withPort(domain.name, port === "" && protocol === "http:" ? "80" : port);
  return isLoopback(hostname.replace(/^\[|\]$/g, "")) ? withPort("localhost", port) : host;
}

function withPort(name: string, port: string): string {
  return port === "" ? name : `${name}:${port}`;
}
