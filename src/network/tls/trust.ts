import { subjectHash } from "./certificate.ts";
import { AUTHORITY_NAME } from "./sandbox-authority.ts";

/** A file to write inside, as root, readable by all. */
export interface TrustFile {
  readonly path: string;
  readonly content: string;
  readonly mode: number;
}

/** All certificates of the system and the sandbox's own. */
const BUNDLE = "/etc/ssl/certs/ca-certificates.crt";
/** Only the sandbox's own certificate. */
const OWN = "/etc/ssl/certs/belljar-ca.pem";
/** Chromium reads no bundle. Whoever starts it finds the certificate here, beside what its maker trusts. */
const CHROMIUM = "/etc/chromium/policies/managed/belljar-ca.json";
const HOOK = "/etc/ca-certificates/update.d/belljar";

/**
 * Returns the files that make a sandbox trust its own authority: the system's bundle with the certificate, the certificate itself, its file
 * by hash for programs that search the folder, a policy for Chromium, and a hook that adds it when `update-ca-certificates` rebuilds the bundle.
 * All files are in `/etc`, the only place that is writable in a sandbox with a single id.
 */
export function trustFiles(certificatePem: string, systemBundle: string): readonly TrustFile[] {
  const file = (path: string, content: string): TrustFile => ({ path, content, mode: 0o644 });
  return [
    file(BUNDLE, `${systemBundle.trimEnd()}\n${certificatePem}`.trimStart()),
    file(OWN, certificatePem),
    file(`/etc/ssl/certs/${subjectHash(AUTHORITY_NAME)}.0`, certificatePem),
    file(CHROMIUM, chromiumPolicy(certificatePem)),
    { path: HOOK, content: `#!/bin/sh\ncat ${OWN} >>${BUNDLE}\n`, mode: 0o755 },
  ];
}

function chromiumPolicy(certificatePem: string): string {
  const base64 = certificatePem.replaceAll(/-----[^-]+-----|\s/g, "");
  return JSON.stringify({ CACertificates: [base64] });
}

/** Returns variables for programs that do not use the system's certificates. */
export function trustEnv(): Readonly<Record<string, string>> {
  return {
    NODE_EXTRA_CA_CERTS: BUNDLE,
    DENO_CERT: OWN,
    SSL_CERT_FILE: BUNDLE,
    CURL_CA_BUNDLE: BUNDLE,
    GIT_SSL_CAINFO: BUNDLE,
    REQUESTS_CA_BUNDLE: BUNDLE,
    PIP_CERT: BUNDLE,
    CARGO_HTTP_CAINFO: BUNDLE,
    AWS_CA_BUNDLE: BUNDLE,
    GRPC_DEFAULT_SSL_ROOTS_FILE_PATH: BUNDLE,
    npm_config_cafile: BUNDLE,
  };
}
