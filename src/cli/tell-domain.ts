import { domainFor } from "../gateway/e2b/e2b-domain.ts";
import type { OpenedDomain } from "./compose/open-e2b-domain.ts";

/** What clients of E2B are told, so that they ask the server at this address by host name and TLS. */
export function tellDomain(domain: OpenedDomain, address: URL): readonly string[] {
  const { name, trust } = domain;
  return [
    `Clients of E2B by host name (api.${name} and *.${name} must lead to this machine):`,
    `  E2B_DOMAIN=${domainFor(domain, address.href)}`,
    ...(trust ? [`  NODE_EXTRA_CA_CERTS=${trust.authority}   (JavaScript)`, `  SSL_CERT_FILE=${trust.bundle}   (Python)`] : []),
  ];
}
