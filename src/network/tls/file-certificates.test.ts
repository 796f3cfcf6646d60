import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createCertificate } from "./certificate.ts";
import type { CertificateFiles } from "./file-certificates.ts";
import { loadFileCertificates } from "./file-certificates.ts";

const DOMAIN = "e2b.example";

function makeFiles(): CertificateFiles & Disposable {
  const folder = mkdtempSync(join(tmpdir(), "belljar-cert-"));
  const files = { cert: join(folder, "cert.pem"), key: join(folder, "key.pem"), domain: DOMAIN };
  write(files, `*.${DOMAIN}`);
  return { ...files, [Symbol.dispose]: () => rmSync(folder, { recursive: true }) };
}

/** A certificate that signs itself, as long as the one before it. */
function write(files: Pick<CertificateFiles, "cert" | "key">, host: string, withKey = true): void {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const [notBefore, notAfter] = [new Date(), new Date(Date.now() + 86_400_000)];
  const own = { subject: "a", subjectKey: publicKey, issuer: "a", issuerKey: privateKey, issuerPublicKey: publicKey };
  writeFileSync(files.cert, createCertificate({ ...own, notBefore, notAfter, use: { kind: "server", host } }));
  if (withKey) writeFileSync(files.key, privateKey.export({ type: "pkcs8", format: "pem" }));
}

it("reads files that were renewed with the next handshake", () => {
  using files = makeFiles();
  const failures: unknown[] = [];
  const certificates = loadFileCertificates(files, (error) => void failures.push(error));
  const first = certificates.contextFor();
  expect(certificates.contextFor()).toBe(first);
  write(files, `*.${DOMAIN}`);
  const second = certificates.contextFor();
  expect(second).not.toBe(first);
  expect(certificates.contextFor()).toBe(second);
  expect(failures).toEqual([]);
});

it("keeps the earlier ones while the files cannot be used, and says so once", () => {
  using files = makeFiles();
  const failures: unknown[] = [];
  const certificates = loadFileCertificates(files, (error) => void failures.push(error));
  const first = certificates.contextFor();
  write(files, `*.${DOMAIN}`, false);
  expect([certificates.contextFor(), certificates.contextFor()]).toEqual([first, first]);
  expect(failures).toMatchObject([{ code: "CONFIG_INVALID" }]);
  rmSync(files.cert);
  expect(certificates.contextFor()).toBe(first);
  write(files, `*.${DOMAIN}`);
  expect(certificates.contextFor()).not.toBe(first);
});

it.each([
  ["is missing", (files: CertificateFiles) => rmSync(files.key), /ENOENT/],
  ["is no certificate", (files: CertificateFiles) => writeFileSync(files.cert, "x"), /PEM|no start line/],
  ["has another key", (files: CertificateFiles) => write(files, `*.${DOMAIN}`, false), /is not the key/],
  ["is for other names", (files: CertificateFiles) => write(files, "*.example"), /it is not for \*\.e2b\.example/],
])("stops the start for a certificate that %s", (_what, damage, message) => {
  using files = makeFiles();
  damage(files);
  const load = () => loadFileCertificates(files, () => undefined);
  expect(load).toThrow(message);
  expect(load).toThrow(expect.objectContaining({ code: "CONFIG_INVALID" }) as Error);
});
