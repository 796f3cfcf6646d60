import type { KeyObject } from "node:crypto";
import { createPrivateKey, createPublicKey, generateKeyPairSync } from "node:crypto";
import type { SecureContext } from "node:tls";
import { createSecureContext } from "node:tls";
import { BelljarError } from "../../errors.ts";
import { toCanonicalHost } from "../host-name.ts";
import { createCertificate } from "./certificate.ts";

/** The certificate authority of one sandbox. The key stays on the host. Only this sandbox trusts the certificate. */
export interface SandboxAuthority {
  readonly certificatePem: string;
  readonly keyPem: string;
}

/** The same in every sandbox, so that the name of the certificate's file inside is the same too. */
export const AUTHORITY_NAME = "Belljar sandbox authority";
const DAY_MS = 86_400_000;
/** Longer than the life of any sandbox. */
const AUTHORITY_DAYS = 3650;
const LEAF_DAYS = 30;
/** Far more than the hosts of secrets and rules. */
const CACHED_MAX = 256;

/** Takes less than a millisecond. */
export function createSandboxAuthority(now = new Date()): SandboxAuthority {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const certificatePem = createCertificate({
    subject: AUTHORITY_NAME,
    subjectKey: publicKey,
    issuer: AUTHORITY_NAME,
    issuerKey: privateKey,
    issuerPublicKey: publicKey,
    ...lifetime(now, AUTHORITY_DAYS),
    use: { kind: "authority" },
  });
  return { certificatePem, keyPem: privateKey.export({ type: "pkcs8", format: "pem" }).toString() };
}

/** The certificates of hosts whose traffic is read, signed by the sandbox's authority. */
export interface ServerCertificates {
  /** Throws `ARGUMENTS_INVALID` unless `host` is a host name or an address. */
  contextFor(host: string): SecureContext;
}

export function createServerCertificates(authority: SandboxAuthority, now: () => Date = () => new Date()): ServerCertificates {
  const issuerKey = createPrivateKey(authority.keyPem);
  const keys = { issuerKey, issuerPublicKey: createPublicKey(issuerKey) };
  const leafKeys = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const cached = new Map<string, CachedContext>();
  return {
    contextFor(host) {
      const name = parseHost(host);
      const known = cached.get(name);
      if (known && known.renewAt > now()) return known.context;
      const made = createContext(name, { ...keys, leafKeys, authority, now: now() });
      keepNewest(cached, name, made);
      return made.context;
    },
  };
}

interface CachedContext {
  readonly context: SecureContext;
  readonly renewAt: Date;
}

interface ContextParts {
  readonly issuerKey: KeyObject;
  readonly issuerPublicKey: KeyObject;
  readonly leafKeys: { readonly publicKey: KeyObject; readonly privateKey: KeyObject };
  readonly authority: SandboxAuthority;
  readonly now: Date;
}

function createContext(host: string, { issuerKey, issuerPublicKey, leafKeys, authority, now }: ContextParts): CachedContext {
  const { notBefore, notAfter } = lifetime(now, LEAF_DAYS);
  const leaf = createCertificate({
    // A common name has at most 64 characters. Clients check the alternative name.
    subject: host.slice(0, 64),
    subjectKey: leafKeys.publicKey,
    issuer: AUTHORITY_NAME,
    issuerKey,
    issuerPublicKey,
    notBefore,
    notAfter,
    use: { kind: "server", host },
  });
  const key = leafKeys.privateKey.export({ type: "pkcs8", format: "pem" });
  const context = createSecureContext({ key, cert: leaf + authority.certificatePem, minVersion: "TLSv1.2" });
  return { context, renewAt: new Date(notAfter.getTime() - DAY_MS) };
}

function parseHost(host: string): string {
  const name = toCanonicalHost(host);
  if (name !== undefined) return name;
  throw new BelljarError("ARGUMENTS_INVALID", `${JSON.stringify(host.slice(0, 100))} is neither a host name nor an address`);
}

/** The sandbox uses the host's clock. One day before now allows for a clock that was set back. */
function lifetime(now: Date, days: number): { readonly notBefore: Date; readonly notAfter: Date } {
  return { notBefore: new Date(now.getTime() - DAY_MS), notAfter: new Date(now.getTime() + days * DAY_MS) };
}

function keepNewest<Value>(cached: Map<string, Value>, key: string, value: Value): void {
  cached.delete(key);
  cached.set(key, value);
  const [oldest] = cached.keys();
  if (cached.size > CACHED_MAX && oldest !== undefined) cached.delete(oldest);
}
