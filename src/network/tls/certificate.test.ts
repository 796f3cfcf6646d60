import { createHash, generateKeyPairSync, X509Certificate } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { CertificateOptions } from "./certificate.ts";
import { createCertificate, subjectHash } from "./certificate.ts";

const [ISSUER, SUBJECT] = [generateKeyPairSync("ec", { namedCurve: "P-256" }), generateKeyPairSync("ec", { namedCurve: "P-256" })];

function create(use: CertificateOptions["use"]): Buffer {
  const pem = createCertificate({
    subject: "The subject",
    subjectKey: SUBJECT.publicKey,
    issuer: "The issuer",
    issuerKey: ISSUER.privateKey,
    issuerPublicKey: ISSUER.publicKey,
    notBefore: new Date("2026-01-02T03:04:05Z"),
    notAfter: new Date("2055-06-07T08:09:10Z"),
    use,
  });
  expect(pem).toMatch(/^-----BEGIN CERTIFICATE-----\n(?:[A-Za-z0-9+/=]{1,64}\n)+-----END CERTIFICATE-----\n$/);
  return new X509Certificate(pem).raw;
}

interface Value {
  readonly tag: number;
  readonly content: Buffer;
}

/** The values that follow each other in these bytes of DER. */
function read(bytes: Buffer): readonly Value[] {
  const values: Value[] = [];
  for (let at = 0; at < bytes.length;) {
    const [tag = 0, first = 0] = bytes.subarray(at, at + 2);
    const more = first < 128 ? 0 : first & 127;
    const length = more === 0 ? first : bytes.readUIntBE(at + 2, more);
    values.push({ tag, content: bytes.subarray(at + 2 + more, at + 2 + more + length) });
    at += 2 + more + length;
  }
  return values;
}

const inside = (value: Value | undefined): readonly Value[] => read(value?.content ?? Buffer.alloc(0));

/** The fields of the part that is signed. */
function fieldsOf(certificate: Buffer): readonly Value[] {
  return inside(inside(read(certificate)[0])[0]);
}

/** Each extension as its number below 2.5.29, whether it is critical, and its value. */
function extensionsOf(certificate: Buffer): readonly (readonly [number | undefined, boolean, string])[] {
  return inside(inside(fieldsOf(certificate).at(-1))[0]).map((extension) => {
    const [id, ...rest] = inside(extension);
    return [id?.content.at(-1), rest[0]?.tag === 1 && rest[0].content[0] === 255, rest.at(-1)?.content.toString("hex") ?? ""];
  });
}

const keyId = (key: typeof ISSUER.publicKey): string =>
  createHash("sha256")
    .update(key.export({ type: "spki", format: "der" }))
    .digest("hex")
    .slice(0, 40);
const KEY_IDS = [
  [14, false, `0414${keyId(SUBJECT.publicKey)}`],
  [35, false, `30168014${keyId(ISSUER.publicKey)}`],
] as const;

describe("a certificate", () => {
  it("is of version 3, with a positive serial number of its own", () => {
    const [one, other] = [fieldsOf(create({ kind: "authority" })), fieldsOf(create({ kind: "authority" }))];
    expect([one[0]?.tag, one[0]?.content.toString("hex")]).toEqual([0xa0, "020102"]);
    expect(one[1]?.content).toHaveLength(16);
    expect((one[1]?.content[0] ?? 0) & 0xc0).toBe(0x40);
    expect(one[1]?.content).not.toEqual(other[1]?.content);
  });

  it("names its subject, its issuer and its time, and is signed by the issuer", () => {
    const certificate = new X509Certificate(create({ kind: "authority" }));
    expect([certificate.subject, certificate.issuer]).toEqual(["CN=The subject", "CN=The issuer"]);
    expect([certificate.validFrom, certificate.validTo]).toEqual(["Jan  2 03:04:05 2026 GMT", "Jun  7 08:09:10 2055 GMT"]);
    expect([certificate.verify(ISSUER.publicKey), certificate.verify(SUBJECT.publicKey)]).toEqual([true, false]);
    expect(certificate.publicKey.equals(SUBJECT.publicKey)).toBe(true);
  });

  it("of an authority may sign servers alone", () => {
    expect(extensionsOf(create({ kind: "authority" }))).toEqual([[19, true, "30060101ff020100"], [15, true, "03020204"], ...KEY_IDS]);
  });

  it.each([
    ["good.test", `820${(9).toString(16)}${Buffer.from("good.test").toString("hex")}`],
    ["1.2.3.4", "870401020304"],
    ["2001:db8::1:0", "871020010db8000000000000000000010000"],
    ["::", `8710${"00".repeat(16)}`],
    ["1:2:3:4:5:6:7:8", "871000010002000300040005000600070008"],
  ])("of the server %s is good for that alone", (host, name) => {
    const length = (name.length / 2).toString(16).padStart(2, "0");
    expect(extensionsOf(create({ kind: "server", host }))).toEqual([
      [19, true, "3000"],
      [15, true, "03020780"],
      [37, false, "300a06082b06010505070301"],
      [17, false, `30${length}${name}`],
      ...KEY_IDS,
    ]);
  });
});

it("gives the hash of a subject as OpenSSL does, whatever its spaces and capitals", () => {
  // As `openssl x509 -hash` says.
  for (const name of ["Belljar sandbox authority", " belljar  SANDBOX\tauthority "]) expect(subjectHash(name)).toBe("584b2615");
  expect(subjectHash("other")).not.toBe("584b2615");
});
