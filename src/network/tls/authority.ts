import type { KeyObject } from "node:crypto";
import { createPrivateKey, createPublicKey, generateKeyPairSync } from "node:crypto";
import type { SecureContext } from "node:tls";
import { createSecureContext } from "node:tls";
import { createCertificate } from "./certificate.ts";

/** A certificate authority with its key. */
export interface Authority {
  readonly certificatePem: string;
  readonly keyPem: string;
}

const DAY_MS = 86_400_000;
/** Longer than the life of any sandbox. */
const AUTHORITY_DAYS = 3650;
const LEAF_DAYS = 30;

export interface AuthorityOptions {
  readonly name: string;
  /** It signs for this domain and the names below it alone. Absent: for every name and address. */
  readonly domain?: string;
  readonly now: Date;
}

/** Takes less than a millisecond. */
export function createAuthority({ name, domain, now }: AuthorityOptions): Authority {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const certificatePem = createCertificate({
    subject: name,
    subjectKey: publicKey,
    issuer: name,
    issuerKey: privateKey,
    issuerPublicKey: publicKey,
    ...lifetime(now, AUTHORITY_DAYS),
    use: { kind: "authority", domain },
  });
  return { certificatePem, keyPem: privateKey.export({ type: "pkcs8", format: "pem" }).toString() };
}

/** What a server shows, and when another one must be issued. */
export interface IssuedContext {
  readonly context: SecureContext;
  readonly renewAt: Date;
}

/** Issues certificates of servers for a host name, a wildcard or an address. */
export interface Issuer {
  issue(host: string, now: Date): IssuedContext;
}

/** `name` is the one that the authority was made with. */
export function openIssuer(authority: Authority, name: string): Issuer {
  const issuerKey = createPrivateKey(authority.keyPem);
  const parts = { name, issuerKey, issuerPublicKey: createPublicKey(issuerKey), authority };
  const leafKeys = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return { issue: (host, now) => issue(host, { ...parts, leafKeys, now }) };
}

interface IssueParts {
  readonly name: string;
  readonly issuerKey: KeyObject;
  readonly issuerPublicKey: KeyObject;
  readonly leafKeys: { readonly publicKey: KeyObject; readonly privateKey: KeyObject };
  readonly authority: Authority;
  readonly now: Date;
}

function issue(host: string, { name, issuerKey, issuerPublicKey, leafKeys, authority, now }: IssueParts): IssuedContext {
  const { notBefore, notAfter } = lifetime(now, LEAF_DAYS);
  const leaf = createCertificate({
    // A common name has at most 64 characters. Clients check the alternative name.
    subject: host.slice(0, 64),
    subjectKey: leafKeys.publicKey,
    issuer: name,
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

/** Clients use the host's clock or one near it. One day before now allows for a clock that was set back. */
function lifetime(now: Date, days: number): { readonly notBefore: Date; readonly notAfter: Date } {
  return { notBefore: new Date(now.getTime() - DAY_MS), notAfter: new Date(now.getTime() + days * DAY_MS) };
}
