import { subjectHash } from "./certificate.ts";
import { AUTHORITY_NAME } from "./sandbox-authority.ts";

/** A file to be written inside as root, readable to all. */
export interface TrustFile {
  readonly path: string;
  readonly content: string;
  readonly mode: number;
}

/** Every system certificate and the sandbox's own. */
const BUNDLE = "/etc/ssl/certs/ca-certificates.crt";
/** The sandbox's own alone. */
const OWN = "/etc/ssl/certs/belljar-ca.pem";
const HOOK = "/etc/ca-certificates/update.d/belljar";

/**
 * What makes a sandbox trust its own authority: the system's bundle with it, the certificate itself, its link by hash for programs
 * that look in the folder, and a hook that adds it when `update-ca-certificates` makes the bundle again. All of it lies in `/etc`,
 * which alone can be written where the sandbox has one id.
 */
export function trustFiles(certificatePem: string, systemBundle: string): readonly TrustFile[] {
  const file = (path: string, content: string): TrustFile => ({ path, content, mode: 0o644 });
  return [
    file(BUNDLE, `${systemBundle.trimEnd()}\n${certificatePem}`.trimStart()),
    file(OWN, certificatePem),
    file(`/etc/ssl/certs/${subjectHash(AUTHORITY_NAME)}.0`, certificatePem),
    { path: HOOK, content: `#!/bin/sh\ncat ${OWN} >>${BUNDLE}\n`, mode: 0o755 },
  ];
}

/** For programs that read the system's certificates from elsewhere, or bring their own. */
export function trustEnv(): Readonly<Record<string, string>> {
  return {
    NODE_EXTRA_CA_CERTS: OWN,
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
