import { X509Certificate, createPrivateKey } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "../../config/config.ts";
import { BelljarError } from "../../errors.ts";
import { createPrivateFile, ensurePrivateFolder, readPrivateFile } from "../../files/private-files.ts";
import { ifPresent } from "../../files/file-error.ts";
import { replaceFile } from "../../files/replace-file.ts";
import type { E2bDomain } from "../../gateway/e2b/e2b-domain.ts";
import type { Authority } from "../../network/tls/authority.ts";

/** The domain that clients of E2B ask by TLS, with what a person must know of it. */
export interface OpenedDomain extends E2bDomain {
  /** Files with what clients must trust. Absent for a certificate that was given. */
  readonly trust?: TrustFiles;
}

export interface TrustFiles {
  /** The authority's certificate alone. */
  readonly authority: string;
  /** With those that this machine trusts, for clients that take one file in the place of these. */
  readonly bundle: string;
}

/** Undefined without a domain. Rejects with `CONFIG_INVALID`, and with `FILE_IO` for an authority of the home that cannot be used. */
export async function openE2bDomain(
  { tls, home }: Pick<Config, "tls" | "home">,
  onFailure: (error: unknown) => void,
): Promise<OpenedDomain | undefined> {
  const { domain: name, cert, key } = tls;
  if ((cert === undefined) !== (key === undefined) || (name === undefined && cert !== undefined))
    throw new BelljarError("CONFIG_INVALID", "A certificate needs tls.domain, tls.cert and tls.key: set all three, or tls.domain alone");
  if (name === undefined) return undefined;
  if (cert !== undefined && key !== undefined) {
    const { loadFileCertificates } = await import("../../network/tls/file-certificates.ts");
    return { name, certificates: loadFileCertificates({ cert, key, domain: name }, onFailure) };
  }
  const folder = domainFolder(home, name);
  const { createDomainCertificates } = await import("../../network/tls/domain-authority.ts");
  const authority = await openAuthority(folder, name);
  return { name, certificates: createDomainCertificates(authority, name), trust: await writeTrust(trustFiles(home, name), authority) };
}

function domainFolder(home: string, domain: string): string {
  return join(home, "tls", domain);
}

/** Where a server of this home writes what clients must trust. */
export function trustFiles(home: string, domain: string): TrustFiles {
  const folder = domainFolder(home, domain);
  return { authority: join(folder, "ca.pem"), bundle: join(folder, "bundle.pem") };
}

/** Of several processes that make one at once the first wins. */
async function openAuthority(folder: string, domain: string): Promise<Authority> {
  await ensurePrivateFolder(folder);
  const path = join(folder, "authority.pem");
  const text = await readPrivateFile(path);
  if (text !== undefined) return parseAuthority(path, text);
  const { createDomainAuthority } = await import("../../network/tls/domain-authority.ts");
  const { keyPem, certificatePem } = createDomainAuthority(domain);
  await createPrivateFile(path, keyPem + certificatePem);
  return openAuthority(folder, domain);
}

function parseAuthority(path: string, text: string): Authority {
  const [keyPem = "", certificatePem = ""] = ["PRIVATE KEY", "CERTIFICATE"].map((kind) => pemOf(text, kind));
  try {
    const certificate = new X509Certificate(certificatePem);
    if (certificate.checkPrivateKey(createPrivateKey(keyPem)) && new Date(certificate.validTo) > new Date())
      return { keyPem, certificatePem };
  } catch (cause) {
    throw damaged(path, cause);
  }
  throw damaged(path);
}

function pemOf(text: string, kind: string): string {
  const [begin, end] = [`-----BEGIN ${kind}-----`, `-----END ${kind}-----`];
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  return from < 0 || to < from ? "" : `${text.slice(from, to)}${end}\n`;
}

function damaged(path: string, cause?: unknown): BelljarError {
  const advice = "remove it, and another one is made, which clients must trust anew";
  return new BelljarError("FILE_IO", `${path}, the authority for names asked by TLS, is damaged or out of date: ${advice}`, { cause });
}

/** Where Linux systems have what they trust. */
const SYSTEM_BUNDLES = ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"];

async function writeTrust(files: TrustFiles, { certificatePem }: Authority): Promise<TrustFiles> {
  const texts = await Promise.all(SYSTEM_BUNDLES.map((path) => ifPresent(path, readFile(path, "utf8"))));
  const system = texts.find((text) => text !== undefined) ?? "";
  await Promise.all([replaceFile(files.authority, certificatePem), replaceFile(files.bundle, `${system}\n${certificatePem}`)]);
  return files;
}
