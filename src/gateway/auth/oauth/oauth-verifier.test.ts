import { createHmac, generateKeyPairSync } from "node:crypto";
import type { JWTPayload } from "jose";
import { SignJWT } from "jose";
import { describe, expect, it } from "vitest";
import { openOAuthIssuer } from "../../../../test/support/oauth-issuer.ts";
import { BelljarError } from "../../../errors.ts";
import { createIssuerKeys } from "./issuer-keys.ts";
import { createOAuthVerifier } from "./oauth-verifier.ts";

const AUDIENCE = "https://belljar.example.com/mcp";
const ALICE = { id: "oauth:alice", name: "alice", grants: {} };

/** An issuer on loopback, and who takes its tokens. */
async function openLab({ now }: { readonly now?: () => Date } = {}) {
  const issuer = await openOAuthIssuer({ audience: AUDIENCE });
  const keys = createIssuerKeys({ issuer: new URL(issuer.issuer), cooldownMs: 0 });
  const verifier = createOAuthVerifier({ issuer: issuer.issuer, audience: AUDIENCE, keys, ...(now && { now }) });
  return { issuer, find: (token: string) => verifier.find(token), [Symbol.asyncDispose]: () => issuer[Symbol.asyncDispose]() };
}

const now = (): number => Math.floor(Date.now() / 1_000);

describe("takes a token that is signed with", () => {
  const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const edwards = generateKeyPairSync("ed25519");
  const curve = (namedCurve: string) => generateKeyPairSync("ec", { namedCurve });

  it.each([
    ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"].map((algorithm) => [algorithm, rsa] as const),
    ["ES256", curve("P-256")] as const,
    ["ES384", curve("P-384")] as const,
    ["ES512", curve("P-521")] as const,
    ["EdDSA", edwards] as const,
    ["Ed25519", edwards] as const,
  ])("%s", async (alg, { privateKey, publicKey }) => {
    const claims = { iss: "https://a.test", aud: AUDIENCE, sub: "alice", scope: "belljar", exp: now() + 300 };
    const token = await new SignJWT(claims).setProtectedHeader({ alg }).sign(privateKey);
    const verifier = createOAuthVerifier({ issuer: "https://a.test", audience: AUDIENCE, keys: async () => publicKey });
    expect(await verifier.find(token)).toEqual(ALICE);
  });
});

it.each([
  ["an array of audiences", () => ({ aud: ["https://other.example.com", AUDIENCE] })],
  ["scopes as a list", () => ({ scope: undefined, scp: ["belljar", 1, null] })],
  ["scopes in both claims", () => ({ scope: "openid", scp: "belljar" })],
  ["a clock that is some seconds ahead", () => ({ nbf: now() + 20 })],
  ["an end some seconds ago", () => ({ exp: now() - 20 })],
])("takes %s", async (_what, claims) => {
  await using lab = await openLab();
  expect(await lab.find(await lab.issuer.token(claims()))).toEqual(ALICE);
});

it.each(["at+jwt", "application/at+jwt", "JWT", "application/jwt", "AT+JWT", undefined])("takes the kind %s", async (typ) => {
  await using lab = await openLab();
  expect(await lab.find(await lab.issuer.token({}, { typ }))).toEqual(ALICE);
});

it("grants what the scopes say, to a subject of up to 255 characters", async () => {
  await using lab = await openLab();
  const sub = "é".repeat(255);
  const token = await lab.issuer.token({ sub, scope: "openid workspaces belljar:read-only belljar:toolset:files" });
  expect(await lab.find(token)).toEqual({ id: `oauth:${sub}`, name: sub, grants: { readOnly: true, toolsets: ["files"] } });
});

describe("takes for no token", () => {
  it.each<[what: string, claims: JWTPayload]>([
    ["one for another audience", { aud: "https://other.example.com/mcp" }],
    ["one for no audience", { aud: undefined }],
    ["one for a longer audience", { aud: `${AUDIENCE}/more` }],
    ["one of another issuer", { iss: "https://evil.example" }],
    ["one of no issuer", { iss: undefined }],
    ["one that has run out", { exp: now() - 120 }],
    ["one without an end", { exp: undefined }],
    ["one that is not valid yet", { nbf: now() + 120 }],
    ["one without a subject", { sub: undefined }],
    ["one with a subject that is no text", { sub: 7 as unknown as string }],
    ["one with an empty subject", { sub: "" }],
    ["one with a subject with a line break", { sub: "a\nb" }],
    ["one with a subject that shows as another", { sub: "a\u{202e}b" }],
    ["one with a subject of 256 characters", { sub: "a".repeat(256) }],
    ["one with a scope of Belljar that there is not", { scope: "belljar belljar:readonly" }],
    ["one with a scope with a bad value", { scope: "belljar:sandboxes:many" }],
    ["one that is bound to a key", { cnf: { jkt: "x" } }],
  ])("%s", async (_what, claims) => {
    await using lab = await openLab();
    expect(await lab.find(await lab.issuer.token(claims))).toBeUndefined();
  });

  it.each(["logout+jwt", "at+jwt+x", "x/jwt", ""])("one of the kind %j", async (typ) => {
    await using lab = await openLab();
    expect(await lab.find(await lab.issuer.token({}, { typ }))).toBeUndefined();
  });

  it("one that another issuer signed, or that names a key of its own", async () => {
    await using lab = await openLab();
    await using stranger = await openOAuthIssuer({ audience: AUDIENCE });
    const claims = { iss: lab.issuer.issuer };
    expect(await lab.find(await stranger.token(claims))).toBeUndefined();
    expect(await lab.find(await stranger.token(claims, { jku: `${stranger.issuer}/keys` }))).toBeUndefined();
    expect(stranger.asked).toEqual([]);
  });

  it("one without a signature, and one that is signed with the public key as a secret", async () => {
    await using lab = await openLab();
    const [, payload] = (await lab.issuer.token()).split(".");
    const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
    const keys = await (await fetch(`${lab.issuer.issuer}/keys`)).text();
    const hmacHead = `${encode({ alg: "HS256", kid: "1" })}.${payload}`;
    const forged = [
      `${encode({ alg: "none", kid: "1" })}.${payload}.`,
      `${hmacHead}.${createHmac("sha256", keys).update(hmacHead).digest("base64url")}`,
      "a.b.c",
      "..",
    ];
    for (const token of forged) expect(await lab.find(token)).toBeUndefined();
  });

  it("a text that cannot be one, and asks nobody", async () => {
    await using lab = await openLab();
    for (const text of ["", "a.b", "a.b.c.d", `belljar_${"a".repeat(10)}_x`]) expect(await lab.find(text)).toBeUndefined();
    expect(lab.issuer.asked).toEqual([]);
  });
});

it("judges the times of a token by its own clock", async () => {
  await using lab = await openLab({ now: () => new Date(Date.now() + 3_600_000) });
  expect(await lab.find(await lab.issuer.token())).toBeUndefined();
  expect(await lab.find(await lab.issuer.token({ exp: now() + 3_900 }))).toEqual(ALICE);
});

it("notes what it lets in, and until when", async () => {
  const noted: unknown[] = [];
  await using issuer = await openOAuthIssuer({ audience: AUDIENCE });
  const keys = createIssuerKeys({ issuer: new URL(issuer.issuer), cooldownMs: 0 });
  const seen = { note: (...what: unknown[]) => void noted.push(what) };
  const verifier = createOAuthVerifier({ issuer: issuer.issuer, audience: AUDIENCE, keys, seen });
  const exp = now() + 300;
  await verifier.find(await issuer.token({ exp }));
  await verifier.find(await issuer.token({ exp: now() - 300 }));
  // As long as it is let in: clocks differ by half a minute.
  expect(noted).toEqual([[ALICE, new Date((exp + 30) * 1_000)]]);
});

it("says that a scope is missing when a good token is for other things", async () => {
  await using lab = await openLab();
  for (const scope of [undefined, "", "openid profile workspaces", 7])
    await expect(lab.find(await lab.issuer.token({ scope }))).rejects.toMatchObject({ code: "FORBIDDEN" });
});

it("says whose fault it is when no key can be used", async () => {
  const verifierOf = (cause: unknown) =>
    createOAuthVerifier({ issuer: "https://a.test", audience: AUDIENCE, keys: () => Promise.reject(cause) });
  await using lab = await openLab();
  const token = await lab.issuer.token({ iss: "https://a.test" });
  const unreachable = new BelljarError("SERVER_UNREACHABLE", "it does not answer");
  await expect(verifierOf(unreachable).find(token)).rejects.toBe(unreachable);
  await expect(verifierOf(new TypeError("x")).find(token)).rejects.toMatchObject({ code: "SERVER_UNREACHABLE", cause: new TypeError("x") });
});
