import { X509Certificate } from "node:crypto";
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { tellDomain } from "../tell-domain.ts";
import { openE2bDomain } from "./open-e2b-domain.ts";

const NAME = "e2b.localhost";

function makeHome() {
  const home = mkdtempSync(join(tmpdir(), "belljar-domain-"));
  const open = (tls: { readonly domain?: string; readonly cert?: string; readonly key?: string }) =>
    openE2bDomain({ home, tls }, () => undefined);
  return { home, open, [Symbol.dispose]: () => rmSync(home, { recursive: true }) };
}

it("makes an authority of the home once, whose key nobody else can read", async () => {
  using place = makeHome();
  const opened = await Promise.all([place.open({ domain: NAME }), place.open({ domain: NAME })]);
  const { authority = "", bundle = "" } = opened[0]?.trust ?? {};
  const certificate = readFileSync(authority, "utf8");
  expect(certificate).not.toContain("KEY");
  expect(readFileSync(bundle, "utf8").endsWith(certificate)).toBe(true);
  const made = join(place.home, "tls", NAME, "authority.pem");
  expect([statSync(made).mode & 0o777, statSync(join(made, "..")).mode & 0o777]).toEqual([0o600, 0o700]);
  expect(readFileSync(made, "utf8")).toContain(certificate);
  await place.open({ domain: NAME });
  expect(readFileSync(authority, "utf8")).toBe(certificate);
  await place.open({ domain: "other.localhost" });
  expect(new X509Certificate(certificate).subject).toBe(`CN=Belljar authority of ${NAME}`);
});

it("uses no authority that is damaged, or that others can read", async () => {
  using place = makeHome();
  await place.open({ domain: NAME });
  const made = join(place.home, "tls", NAME, "authority.pem");
  const [text, other] = [readFileSync(made, "utf8"), await place.open({ domain: "other.localhost" })];
  const otherKey = readFileSync(join(place.home, "tls", "other.localhost", "authority.pem"), "utf8");
  const mixed = otherKey.slice(0, otherKey.indexOf("-----BEGIN CERT")) + text.slice(text.indexOf("-----BEGIN CERT"));
  expect(other?.name).toBe("other.localhost");
  for (const damaged of ["", text.slice(0, 200), mixed]) {
    writeFileSync(made, damaged);
    await expect(place.open({ domain: NAME })).rejects.toMatchObject({ code: "FILE_IO" });
  }
  writeFileSync(made, text);
  chmodSync(made, 0o640);
  await expect(place.open({ domain: NAME })).rejects.toMatchObject({ code: "FILE_IO" });
});

it("needs a domain, and a certificate with its key", async () => {
  using place = makeHome();
  expect(await place.open({})).toBeUndefined();
  for (const tls of [{ cert: "/a" }, { key: "/a" }, { cert: "/a", key: "/b" }, { domain: NAME, cert: "/a" }])
    await expect(place.open(tls)).rejects.toMatchObject({ code: "CONFIG_INVALID" });
  await expect(place.open({ domain: NAME, cert: "/no/a", key: "/no/b" })).rejects.toThrow("/no/a cannot be used");
});

it("is told to clients with its port and what they must trust", async () => {
  const certificates = { contextFor: () => expect.fail("nobody asks") };
  const domain = { name: NAME, certificates, trust: { authority: "/h/ca.pem", bundle: "/h/bundle.pem" } };
  const told = tellDomain(domain, new URL("http://127.0.0.1:6060")).join("\n");
  for (const line of [`E2B_DOMAIN=${NAME}:6060`, "NODE_EXTRA_CA_CERTS=/h/ca.pem", "SSL_CERT_FILE=/h/bundle.pem"])
    expect(told).toContain(line);
  expect(tellDomain({ name: NAME, certificates }, new URL("http://127.0.0.1:80")).join("\n")).not.toContain("CERT");
});
