import { X509Certificate, createPrivateKey } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import type { SecureContext } from "node:tls";
import { createSecureContext } from "node:tls";
import { BelljarError } from "../../errors.ts";
import type { DomainCertificates } from "./domain-authority.ts";

export interface CertificateFiles {
  /** The certificate with its chain, in PEM. */
  readonly cert: string;
  readonly key: string;
  readonly domain: string;
}

/**
 * A certificate that somebody else renews: files that have changed are read with the next handshake. If they cannot be used, the earlier ones
 * stay in use, and `onFailure` is told once of each change. Throws `CONFIG_INVALID` unless the files can be used now.
 */
export function loadFileCertificates(files: CertificateFiles, onFailure: (error: unknown) => void): DomainCertificates {
  let stamp = stampOf(files);
  let context = loadContext(files);
  return {
    contextFor() {
      try {
        const now = stampOf(files);
        if (now === stamp) return context;
        stamp = now;
        context = loadContext(files);
      } catch (error) {
        onFailure(error);
      }
      return context;
    },
  };
}

function loadContext({ cert, key, domain }: CertificateFiles): SecureContext {
  const [certPem, keyPem] = [read(cert), read(key)];
  try {
    const certificate = new X509Certificate(certPem);
    if (!certificate.checkPrivateKey(createPrivateKey(keyPem))) throw new TypeError(`${key} is not the key of this certificate`);
    if (certificate.checkHost(`api.${domain}`) === undefined) throw new TypeError(`it is not for *.${domain}`);
    return createSecureContext({ cert: certPem, key: keyPem, minVersion: "TLSv1.2" });
  } catch (cause) {
    throw unusable(cert, cause);
  }
}

/** Synchronous: a handshake waits for its context, and the files are in memory. */
function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw unusable(path, cause);
  }
}

function stampOf({ cert, key }: CertificateFiles): string {
  return [cert, key].map(stampOfFile).join(" ");
}

function stampOfFile(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  return found ? `${found.ino}.${found.mtimeMs}.${found.size}` : "none";
}

function unusable(path: string, cause: unknown): BelljarError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new BelljarError("CONFIG_INVALID", `The certificate ${path} cannot be used (tls.cert, tls.key): ${why}`, { cause });
}
