import type { SecureContext } from "node:tls";
import { BelljarError } from "../../errors.ts";
import { toCanonicalHost } from "../host-name.ts";
import type { Authority, IssuedContext } from "./authority.ts";
import { createAuthority, openIssuer } from "./authority.ts";

/** The certificate authority of one sandbox. The key stays on the host. Only this sandbox trusts the certificate. */
export type SandboxAuthority = Authority;

/** The same in every sandbox, so that the name of the certificate's file inside is the same too. */
export const AUTHORITY_NAME = "Belljar sandbox authority";
/** Far more than the hosts of secrets and rules. */
const CACHED_MAX = 256;

/** Takes less than a millisecond. */
export function createSandboxAuthority(now = new Date()): SandboxAuthority {
  return createAuthority({ name: AUTHORITY_NAME, now });
}

/** The certificates of hosts whose traffic is read, signed by the sandbox's authority. */
export interface ServerCertificates {
  /** Throws `ARGUMENTS_INVALID` unless `host` is a host name or an address. */
  contextFor(host: string): SecureContext;
}

export function createServerCertificates(authority: SandboxAuthority, now: () => Date = () => new Date()): ServerCertificates {
  const issuer = openIssuer(authority, AUTHORITY_NAME);
  const cached = new Map<string, IssuedContext>();
  return {
    contextFor(host) {
      const name = parseHost(host);
      const known = cached.get(name);
      if (known && known.renewAt > now()) return known.context;
      const made = issuer.issue(name, now());
      keepNewest(cached, name, made);
      return made.context;
    },
  };
}

function parseHost(host: string): string {
  const name = toCanonicalHost(host);
  if (name !== undefined) return name;
  throw new BelljarError("ARGUMENTS_INVALID", `${JSON.stringify(host.slice(0, 100))} is neither a host name nor an address`);
}

function keepNewest<Value>(cached: Map<string, Value>, key: string, value: Value): void {
  cached.delete(key);
  cached.set(key, value);
  const [oldest] = cached.keys();
  if (cached.size > CACHED_MAX && oldest !== undefined) cached.delete(oldest);
}
