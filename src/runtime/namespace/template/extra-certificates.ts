import { lstat, readFile } from "node:fs/promises";
import { join } from "node:path";
import { absentIs } from "./copy-rows.ts";

/** Where they lie in the root layer. Node would read the host's whole bundle at each start, in 20 ms. */
export const EXTRA_CERTIFICATES = "opt/belljar/extra-certificates.pem";

/** All certificates that the host trusts, as Debian and as Red Hat keep them. */
const BUNDLES = ["etc/ssl/certs/ca-certificates.crt", "etc/pki/tls/certs/ca-bundle.crt"];
const CERTIFICATE = /-----BEGIN CERTIFICATE-----([^-]{1,65536})-----END CERTIFICATE-----/g;

/**
 * Returns the certificates that the host trusts, the layer shows and Node does not bring, such as a company's. Node does not read the
 * system's store by itself.
 */
export async function findExtraCertificates(layer: string, hostRoot: string): Promise<readonly string[]> {
  // Loaded here, because only the build of a template needs it.
  const { rootCertificates } = await import("node:tls");
  const known = new Set(rootCertificates.map(bodyOf));
  const found = new Map<string, string>();
  for (const path of BUNDLES) {
    if (!(await absentIs(undefined, lstat(join(layer, path))))) continue;
    // A link in the layer may lead out of it. The host's file has the same content.
    const bundle = await absentIs("", readFile(join(hostRoot, path), "latin1"));
    for (const [pem] of bundle.matchAll(CERTIFICATE)) if (!known.has(bodyOf(pem))) found.set(bodyOf(pem), pem);
  }
  return [...found.values()];
}

function bodyOf(pem: string): string {
  return pem.replaceAll(/-----[A-Z ]{1,40}-----|\s/g, "");
}
