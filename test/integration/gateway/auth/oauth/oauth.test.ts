import { createHmac } from "node:crypto";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, it } from "vitest";
import { createCallProbe } from "../../../../support/call-probe.ts";
import { createNoSandboxes } from "../../../../support/no-sandboxes.ts";
import { openOAuthIssuer } from "../../../../support/oauth-issuer.ts";
import type { OAuthIssuerOptions } from "../../../../support/oauth-issuer.ts";
import { createGateway } from "../../../../../src/gateway/gateway.ts";
import { openProtectedResource } from "../../../../../src/gateway/auth/oauth/protected-resource.ts";

const AUDIENCE = "https://belljar.example.com/mcp";
const METADATA_URL = "https://belljar.example.com/.well-known/oauth-protected-resource/mcp";

interface LabOptions {
  readonly issuer?: Partial<OAuthIssuerOptions>;
  readonly host?: string;
  readonly cooldownMs?: number;
}

/** A server beyond loopback that takes the tokens of one issuer. */
async function openLab({ issuer: more = {}, host = "0.0.0.0", cooldownMs = 0 }: LabOptions = {}) {
  const issuer = await openOAuthIssuer({ audience: AUDIENCE, ...more });
  const probe = createCallProbe();
  const gateway = createGateway({
    config: { host, port: 0 },
    sandboxes: createNoSandboxes(),
    tools: probe.tools,
    isolation: () => Promise.reject(new Error("Nobody asks")),
    oauth: openProtectedResource({ issuer: issuer.issuer, audience: AUDIENCE, keysCooldownMs: cooldownMs }),
    version: "1.2.3",
    log: { error: () => undefined },
  });
  const { port } = await gateway.listen();
  const url = `http://127.0.0.1:${port}`;
  return {
    issuer,
    probe,
    url,
    ask: (token?: string, path = "/v1/sandboxes") =>
      fetch(url + path, { headers: token === undefined ? {} : { authorization: `Bearer ${token}` } }),
    async [Symbol.asyncDispose]() {
      await gateway.close(0);
      await issuer[Symbol.asyncDispose]();
    },
  };
}

const now = (): number => Math.floor(Date.now() / 1_000);

it("tells whoever has no token where to get one", async () => {
  await using lab = await openLab();
  for (const path of ["/v1/sandboxes", "/mcp"]) {
    const response = await lab.ask(undefined, path);
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toBe(`Bearer scope="belljar", resource_metadata="${METADATA_URL}"`);
  }
  for (const path of ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"]) {
    expect(await (await lab.ask(undefined, path)).json()).toMatchObject({
      resource: AUDIENCE,
      authorization_servers: [lab.issuer.issuer],
      scopes_supported: expect.arrayContaining(["belljar"]),
      bearer_methods_supported: ["header"],
    });
  }
});

it("calls tools in the name of the token's subject, with the grants of its scopes", async () => {
  await using lab = await openLab();
  const token = await lab.issuer.token({ scope: "openid workspaces belljar:read-only belljar:toolset:files" });
  const client = new Client({ name: "test", version: "1" });
  const headers = { authorization: `Bearer ${token}` };
  await client.connect(new StreamableHTTPClientTransport(new URL("/mcp", lab.url), { requestInit: { headers } }));
  const started = lab.probe.started();
  const cancel = new AbortController();
  const call = client.callTool({ name: "wait", arguments: {} }, { signal: cancel.signal });
  expect((await started).principal).toEqual({ id: "oauth:alice", name: "alice", grants: { readOnly: true, toolsets: ["files"] } });
  cancel.abort();
  await expect(call).rejects.toThrow("abort");
  await client.close();
});

it.each(["RS256", "PS256", "ES256", "ES384", "Ed25519"])("takes tokens signed with %s", async (algorithm) => {
  await using lab = await openLab({ issuer: { algorithm } });
  expect((await lab.ask(await lab.issuer.token())).status).toBe(200);
});

it.each([
  ["an array of audiences", () => ({ aud: ["https://other.example.com", AUDIENCE] })],
  ["scopes as a list", () => ({ scope: undefined, scp: ["belljar"] })],
  ["a clock that is some seconds ahead", () => ({ nbf: now() + 20 })],
  ["an end some seconds ago", () => ({ exp: now() - 20 })],
])("takes %s", async (_what, claims) => {
  await using lab = await openLab();
  expect((await lab.ask(await lab.issuer.token(claims()))).status).toBe(200);
});

describe("refuses, as any wrong token,", () => {
  it.each([
    ["another audience", { aud: "https://other.example.com/mcp" }],
    ["no audience", { aud: undefined }],
    ["a longer audience", { aud: `${AUDIENCE}/more` }],
    ["another issuer", { iss: "https://evil.example" }],
    ["no issuer", { iss: undefined }],
    ["one that has run out", { exp: now() - 120 }],
    ["one without an end", { exp: undefined }],
    ["one that is not valid yet", { nbf: now() + 120 }],
    ["one without a subject", { sub: undefined }],
    ["an empty subject", { sub: "" }],
    ["a subject with a line break", { sub: "a\nb" }],
    ["a very long subject", { sub: "a".repeat(300) }],
    ["a scope of Belljar that there is not", { scope: "belljar belljar:readonly" }],
    ["a scope with a bad value", { scope: "belljar:sandboxes:many" }],
    ["one that is bound to a key", { cnf: { jkt: "x" } }],
  ])("%s", async (_what, claims) => {
    await using lab = await openLab();
    const response = await lab.ask(await lab.issuer.token(claims));
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toContain('error="invalid_token"');
    expect(await response.json()).toMatchObject({ error: { code: "UNAUTHORIZED" } });
  });

  it("one of another kind", async () => {
    await using lab = await openLab();
    expect((await lab.ask(await lab.issuer.token({}, { typ: "logout+jwt" }))).status).toBe(401);
  });

  it("one that another issuer signed, or that names a key of its own", async () => {
    await using lab = await openLab();
    await using stranger = await openOAuthIssuer({ audience: AUDIENCE });
    const claims = { iss: lab.issuer.issuer };
    expect((await lab.ask(await stranger.token(claims))).status).toBe(401);
    expect((await lab.ask(await stranger.token(claims, { jku: `${stranger.issuer}/keys` }))).status).toBe(401);
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
    for (const token of forged) expect((await lab.ask(token)).status).toBe(401);
  });
});

it("says that a scope is missing when a good token is for other things", async () => {
  await using lab = await openLab();
  for (const scope of [undefined, "", "openid profile workspaces"]) {
    const response = await lab.ask(await lab.issuer.token({ scope }));
    expect(response.status).toBe(403);
    expect(response.headers.get("www-authenticate")).toContain('error="insufficient_scope", scope="belljar"');
  }
});

it("takes the keys of an issuer that changes them, and the old ones no more", async () => {
  await using lab = await openLab();
  const before = await lab.issuer.token();
  expect((await lab.ask(before)).status).toBe(200);
  await lab.issuer.rotate();
  expect((await lab.ask(await lab.issuer.token())).status).toBe(200);
  expect((await lab.ask(before)).status).toBe(401);
});

it("asks the issuer once for many tokens, and not for each key that nobody knows", async () => {
  await using lab = await openLab({ cooldownMs: 60_000 });
  expect((await lab.ask(await lab.issuer.token())).status).toBe(200);
  const strangers = await Promise.all(Array.from({ length: 20 }, (_, at) => lab.issuer.token({}, { kid: `unknown-${at}` })));
  expect(await Promise.all(strangers.map(async (token) => (await lab.ask(token)).status))).toEqual(strangers.map(() => 401));
  expect(lab.issuer.asked.filter((path) => path === "/keys")).toHaveLength(1);
});

it("finds the keys of an issuer with a path", async () => {
  await using lab = await openLab({ issuer: { path: "/realms/team" } });
  expect((await lab.ask(await lab.issuer.token())).status).toBe(200);
});

it("says that the issuer does not answer, and goes on when it does", async () => {
  await using lab = await openLab();
  lab.issuer.fail(true);
  const response = await lab.ask(await lab.issuer.token());
  expect(response.status).toBe(503);
  expect(await response.json()).toMatchObject({ error: { code: "SERVER_UNREACHABLE", retryable: true } });
  lab.issuer.fail(false);
  expect((await lab.ask(await lab.issuer.token())).status).toBe(200);
});

it("believes no metadata that names another issuer", async () => {
  await using lab = await openLab({ issuer: { claimsToBe: "https://evil.example" } });
  expect((await lab.ask(await lab.issuer.token())).status).toBe(503);
});

it("keeps loopback open to the local user", async () => {
  await using lab = await openLab({ host: "127.0.0.1" });
  expect((await lab.ask()).status).toBe(200);
  expect((await lab.ask(await lab.issuer.token({ aud: "other" }))).status).toBe(401);
});

it("needs https for keys, and an address to tell clients", () => {
  const open = (more: object) => () => openProtectedResource({ issuer: "https://id.example.com", audience: AUDIENCE, ...more });
  expect(open({ issuer: "http://id.example.com" })).toThrow(expect.objectContaining({ code: "CONFIG_INVALID" }));
  expect(open({ jwksUri: "http://id.example.com/keys" })).toThrow(expect.objectContaining({ code: "CONFIG_INVALID" }));
  expect(open({ audience: "belljar-api" })).toThrow(expect.objectContaining({ code: "CONFIG_INVALID" }));
  const named = openProtectedResource({ issuer: "https://id.example.com", audience: "belljar-api", resource: AUDIENCE });
  expect(named.metadata).toMatchObject({ resource: AUDIENCE });
  expect(named.metadataUrl).toBe(METADATA_URL);
});
