import type { SecureContext } from "node:tls";
import type { Authority, IssuedContext } from "./authority.ts";
import { createAuthority, openIssuer } from "./authority.ts";

/** The certificates for the names one label below a domain. */
export interface DomainCertificates {
  /** Issued again before it is out of date. */
  contextFor(): SecureContext;
}

/** Whoever trusts it trusts it for the domain and the names below it alone. */
export function createDomainAuthority(domain: string, now = new Date()): Authority {
  return createAuthority({ name: nameFor(domain), domain, now });
}

/** One certificate for all names, a wildcard: a client that asks for many names costs nothing. */
export function createDomainCertificates(authority: Authority, domain: string, now: () => Date = () => new Date()): DomainCertificates {
  const issuer = openIssuer(authority, nameFor(domain));
  let issued: IssuedContext | undefined;
  return {
    contextFor() {
      if (!issued || issued.renewAt <= now()) issued = issuer.issue(`*.${domain}`, now());
      return issued.context;
    },
  };
}

/** A name has at most 64 characters. */
function nameFor(domain: string): string {
  return `Belljar authority of ${domain}`.slice(0, 64);
}
