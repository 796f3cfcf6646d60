import { X509Certificate, createPrivateKey } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import type { TLSSocket } from "node:tls";
import { connect, createServer } from "node:tls";
import { expect, it } from "vitest";
import { createSandboxAuthority, createServerCertificates } from "./sandbox-authority.ts";

async function shakeHands(host: string, ca: string, serve = createServerCertificates): Promise<X509Certificate> {
  const authority = createSandboxAuthority();
  const context = serve(authority).contextFor(host);
  const server = createServer({ SNICallback: (_name, done) => done(null, context) }).listen(0, "127.0.0.1");
  server.on("tlsClientError", () => undefined);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const socket: TLSSocket = connect({ port, host: "127.0.0.1", servername: host, ca: ca === "own" ? authority.certificatePem : ca });
  try {
    await once(socket, "secureConnect");
    return new X509Certificate(socket.getPeerX509Certificate()?.raw ?? "");
  } finally {
    socket.destroy();
    server.close();
  }
}

it("creates an authority that may sign only servers", () => {
  const { certificatePem, keyPem } = createSandboxAuthority(new Date("2026-11-22T00:00:00Z"));
  const certificate = new X509Certificate(certificatePem);
  expect(certificate.ca).toBe(true);
  expect(certificate.verify(certificate.publicKey)).toBe(true);
  expect(certificate.checkPrivateKey(createPrivateKey(keyPem))).toBe(true);
  expect(certificate.subject).toBe("CN=Belljar sandbox authority");
  expect([certificate.validFrom, certificate.validTo]).toEqual(["Nov 21 00:00:00 2026 GMT", "Nov 19 00:00:00 2036 GMT"]);
});

it("gives each sandbox another authority", () => {
  const [one, other] = [createSandboxAuthority(), createSandboxAuthority()].map((made) => new X509Certificate(made.certificatePem));
  expect(one?.publicKey.equals(other?.publicKey ?? one.publicKey)).toBe(false);
  expect(one?.serialNumber).not.toBe(other?.serialNumber);
});

it("gives a host a certificate that a client of the authority accepts", async () => {
  const certificate = await shakeHands("api.example.com", "own");
  expect(certificate.subjectAltName).toBe("DNS:api.example.com");
  expect(certificate.ca).toBe(false);
});

it("puts a long name whole into the alternative name", async () => {
  const host = `${"a".repeat(60)}.${"b".repeat(60)}.example.com`;
  expect((await shakeHands(host, "own")).checkHost(host)).toBe(host);
});

it("is refused by a client that trusts another sandbox's authority", async () => {
  await expect(shakeHands("api.example.com", createSandboxAuthority().certificatePem)).rejects.toThrow(/unable to verify|signature|self/i);
});

it.each([
  ["127.0.0.1", "IP Address:127.0.0.1"],
  ["::1", "IP Address:0:0:0:0:0:0:0:1"],
  ["2001:db8::5:0:7", "IP Address:2001:DB8:0:0:0:5:0:7"],
])("names the address %s as one", async (host, name) => {
  const { publicKey } = new X509Certificate(createSandboxAuthority().certificatePem);
  const { createCertificate } = await import("./certificate.ts");
  const authority = createSandboxAuthority();
  const pem = createCertificate({
    subject: "x",
    subjectKey: publicKey,
    issuer: "y",
    issuerKey: createPrivateKey(authority.keyPem),
    issuerPublicKey: publicKey,
    notBefore: new Date(),
    notAfter: new Date(),
    use: { kind: "server", host },
  });
  expect(new X509Certificate(pem).subjectAltName).toBe(name);
});

it("reuses the certificate of a host until its renewal", () => {
  let now = new Date("2026-11-22T00:00:00Z");
  const certificates = createServerCertificates(createSandboxAuthority(now), () => now);
  const first = certificates.contextFor("api.example.com");
  expect(certificates.contextFor("API.example.com.")).toBe(first);
  now = new Date("2026-12-21T23:00:00Z");
  expect(certificates.contextFor("api.example.com")).not.toBe(first);
});

it.each(["", "a b", "*.example.com", "a\0b", "a".repeat(300), "-a.example"])("refuses the host %j", (host) => {
  expect(() => createServerCertificates(createSandboxAuthority()).contextFor(host)).toThrow(
    expect.objectContaining({ code: "ARGUMENTS_INVALID" }) as Error,
  );
});
