import { X509Certificate } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { rootCertificates } from "node:tls";
import { expect, it } from "vitest";
import { openLimitedTools } from "../support/limited-tools.ts";

const BUNDLE = ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"].find(existsSync) ?? "";
const CERTIFICATES = /-----BEGIN[^-]*-----[^-]*-----END[^-]*-----/g;
const PRINT = 'printf %s "$NODE_EXTRA_CA_CERTS"';

function printsOf(pems: readonly string[]): readonly string[] {
  return pems.map((pem) => new X509Certificate(pem).fingerprint256);
}

/** The certificates of this host that Node does not bring. */
function extraOfHost(): readonly string[] {
  const pems = BUNDLE !== "" ? (readFileSync(BUNDLE, "utf8").match(CERTIFICATES) ?? []) : [];
  const known = new Set(printsOf(rootCertificates));
  return printsOf(pems).filter((print) => !known.has(print));
}

it("Node inside trusts what the host trusts beyond it, unless the caller names other certificates", async () => {
  await using place = await openLimitedTools({ limits: {}, storage: "home" });
  const shown = await place.text("run_command", {
    command: 'cat ${NODE_EXTRA_CA_CERTS:+"$NODE_EXTRA_CA_CERTS"} </dev/null',
    max_bytes: 262_144,
  });
  expect(printsOf(shown.match(CERTIFICATES) ?? [])).toEqual(extraOfHost());
  const env = { NODE_EXTRA_CA_CERTS: "/home/user/own.pem" };
  expect(await place.text("run_command", { command: PRINT, env })).toContain("/home/user/own.pem\n");
});
