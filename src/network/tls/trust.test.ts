import { expect, it } from "vitest";
import { createSandboxAuthority } from "./sandbox-authority.ts";
import { trustEnv, trustFiles } from "./trust.ts";

it("adds the authority to the system's bundle, and writes it where programs look", () => {
  const { certificatePem } = createSandboxAuthority();
  const files = trustFiles(certificatePem, "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----");
  // The name is what `openssl x509 -hash` says of the authority.
  expect(files.map(({ path, mode }) => `${path} ${mode.toString(8)}`)).toEqual([
    "/etc/ssl/certs/ca-certificates.crt 644",
    "/etc/ssl/certs/belljar-ca.pem 644",
    "/etc/ssl/certs/584b2615.0 644",
    "/etc/chromium/policies/managed/belljar-ca.json 644",
    "/etc/ca-certificates/update.d/belljar 755",
  ]);
  expect(files[0]?.content).toBe(`-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n${certificatePem}`);
});

it("creates a bundle if the system has none", () => {
  const { certificatePem } = createSandboxAuthority();
  expect(trustFiles(certificatePem, "")[0]?.content).toBe(certificatePem);
});

it("names only files that it writes", () => {
  const laid = new Set(trustFiles("", "").map(({ path }) => path));
  expect(Object.values(trustEnv()).filter((path) => !laid.has(path))).toEqual([]);
});
