import type { KeyObject } from "node:crypto";
import { createHash, randomBytes, sign } from "node:crypto";
import { isIP } from "node:net";
import { bits, explicit, implicit, integer, isTrue, octets, oid, sequence, set, time, utf8 } from "./der.ts";

export interface CertificateOptions {
  /** Common name of the certificate's subject. */
  readonly subject: string;
  readonly subjectKey: KeyObject;
  readonly issuer: string;
  /** The private key that signs the certificate. */
  readonly issuerKey: KeyObject;
  readonly issuerPublicKey: KeyObject;
  readonly notBefore: Date;
  readonly notAfter: Date;
  /** A certificate of an authority, for names of `domain` alone if there is one, or of a server with this host name, wildcard or address. */
  readonly use: { readonly kind: "authority"; readonly domain?: string | undefined } | { readonly kind: "server"; readonly host: string };
}

const OID = {
  commonName: "2.5.4.3",
  ecdsaWithSha256: "1.2.840.10045.4.3.2",
  subjectKeyId: "2.5.29.14",
  keyUsage: "2.5.29.15",
  subjectAltName: "2.5.29.17",
  basicConstraints: "2.5.29.19",
  nameConstraints: "2.5.29.30",
  authorityKeyId: "2.5.29.35",
  extendedKeyUsage: "2.5.29.37",
  serverAuth: "1.3.6.1.5.5.7.3.1",
} as const;

const SIGNATURE = sequence(oid(OID.ecdsaWithSha256));

/** Creates an X.509 certificate for an EC key, as PEM (RFC 5280). */
export function createCertificate(options: CertificateOptions): string {
  const body = sequence(
    explicit(0, integer(Buffer.from([2]))),
    integer(serialNumber()),
    SIGNATURE,
    toName(options.issuer),
    sequence(time(options.notBefore), time(options.notAfter)),
    toName(options.subject),
    toSpki(options.subjectKey),
    explicit(3, sequence(...extensionsOf(options))),
  );
  const signature = sign("sha256", body, { key: options.issuerKey, dsaEncoding: "der" });
  return toPem(sequence(body, SIGNATURE, bits(signature)));
}

/** Returns OpenSSL's hash of a subject. It names the file of a trusted certificate: `<hash>.0` in `/etc/ssl/certs`. */
export function subjectHash(commonName: string): string {
  const canonical = set(sequence(oid(OID.commonName), utf8(commonName.trim().replaceAll(/\s+/g, " ").toLowerCase())));
  return createHash("sha1").update(canonical).digest().readUInt32LE(0).toString(16).padStart(8, "0");
}

function extensionsOf({ use, subjectKey, issuerPublicKey }: CertificateOptions): readonly Buffer[] {
  const keyIds = [
    extension(OID.subjectKeyId, octets(keyIdOf(subjectKey))),
    extension(OID.authorityKeyId, sequence(implicit(0, keyIdOf(issuerPublicKey)))),
  ];
  return use.kind === "authority" ? [...authorityExtensions(use.domain), ...keyIds] : [...serverExtensions(use.host), ...keyIds];
}

/** The authority may sign certificates of servers, but not of other authorities. */
function authorityExtensions(domain: string | undefined): readonly Buffer[] {
  const keyCertSign = bits(Buffer.from([0b0000_0100]), 2);
  return [
    extension(OID.basicConstraints, sequence(isTrue(), integer(Buffer.from([0]))), { isCritical: true }),
    extension(OID.keyUsage, keyCertSign, { isCritical: true }),
    ...(domain === undefined ? [] : [extension(OID.nameConstraints, namesOf(domain), { isCritical: true })]),
  ];
}

/** The domain and the names below it, and no address. */
function namesOf(domain: string): Buffer {
  const addresses = [8, 32].map((bytes) => sequence(implicit(7, Buffer.alloc(bytes))));
  return sequence(explicit(0, sequence(implicit(2, Buffer.from(domain)))), explicit(1, ...addresses));
}

function serverExtensions(host: string): readonly Buffer[] {
  const digitalSignature = bits(Buffer.from([0b1000_0000]), 7);
  return [
    extension(OID.basicConstraints, sequence(), { isCritical: true }),
    extension(OID.keyUsage, digitalSignature, { isCritical: true }),
    extension(OID.extendedKeyUsage, sequence(oid(OID.serverAuth))),
    extension(OID.subjectAltName, sequence(toAltName(host))),
  ];
}

function extension(id: string, value: Buffer, { isCritical = false } = {}): Buffer {
  return sequence(oid(id), ...(isCritical ? [isTrue()] : []), octets(value));
}

function toAltName(host: string): Buffer {
  return isIP(host) === 0 ? implicit(2, Buffer.from(host)) : implicit(7, toAddressBytes(host));
}

function toAddressBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split(".").map(Number));
  const { hostname } = new URL(`http://[${address}]`);
  const [head = "", tail = ""] = hostname.slice(1, -1).split("::");
  const groups = (text: string): readonly string[] => text.split(":").filter((group) => group !== "");
  const zeros = Array.from({ length: 8 - groups(head).length - groups(tail).length }, () => "0");
  return Buffer.from([...groups(head), ...zeros, ...groups(tail)].map((group) => group.padStart(4, "0")).join(""), "hex");
}

function toName(commonName: string): Buffer {
  return sequence(set(sequence(oid(OID.commonName), utf8(commonName))));
}

function toSpki(key: KeyObject): Buffer {
  return key.export({ type: "spki", format: "der" });
}

function keyIdOf(key: KeyObject): Buffer {
  return createHash("sha256").update(toSpki(key)).digest().subarray(0, 20);
}

/** Returns a random positive number. */
function serialNumber(): Buffer {
  const bytes = randomBytes(16);
  bytes.writeUInt8((bytes.readUInt8(0) & 0x7f) | 0x40, 0);
  return bytes;
}

function toPem(bytes: Buffer): string {
  const lines = bytes.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}
