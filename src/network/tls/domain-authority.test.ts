import { once } from "node:events";
import type { AddressInfo } from "node:net";
import type { SecureContext } from "node:tls";
import { connect, createServer } from "node:tls";
import { expect, it } from "vitest";
import { openIssuer } from "./authority.ts";
import { createDomainAuthority, createDomainCertificates } from "./domain-authority.ts";

const DOMAIN = "e2b.localhost";
const authority = createDomainAuthority(DOMAIN);

/** What a client that trusts the authority makes of a server that shows this. */
async function shake(context: SecureContext, servername: string): Promise<string> {
  const server = createServer({ SNICallback: (_name, done) => done(null, context) }, (socket) => socket.end());
  server.on("tlsClientError", () => undefined).listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = connect({ port: (server.address() as AddressInfo).port, host: "127.0.0.1", servername, ca: authority.certificatePem });
  const result = await once(client, "secureConnect").then(
    () => "trusted",
    (error: unknown) => (error as Error).message,
  );
  client.destroy();
  server.close();
  return result;
}

it("is trusted for every name one label below its domain", async () => {
  const context = createDomainCertificates(authority, DOMAIN).contextFor();
  for (const name of ["api", `8000-${"a".repeat(20)}`]) expect(await shake(context, `${name}.${DOMAIN}`)).toBe("trusted");
  expect(await shake(context, `a.b.${DOMAIN}`)).toContain("does not match certificate");
});

it("is trusted for nothing outside the domain, whoever has its key", async () => {
  const issuer = openIssuer(authority, `Belljar authority of ${DOMAIN}`);
  const { context } = issuer.issue(`deep.below.${DOMAIN}`, new Date());
  expect(await shake(context, `deep.below.${DOMAIN}`)).toBe("trusted");
  for (const host of ["example.com", "localhost", `x${DOMAIN}`, "127.0.0.1", "::1"])
    expect(await shake(issuer.issue(host, new Date()).context, `api.${DOMAIN}`), host).toMatch(/ subtree violation$/);
});

it("issues its certificate again before that is out of date", () => {
  let now = new Date();
  const certificates = createDomainCertificates(authority, DOMAIN, () => now);
  const first = certificates.contextFor();
  expect(certificates.contextFor()).toBe(first);
  now = new Date(now.getTime() + 29 * 86_400_000);
  expect(certificates.contextFor()).not.toBe(first);
});
