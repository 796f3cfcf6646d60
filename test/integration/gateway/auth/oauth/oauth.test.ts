import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect, it } from "vitest";
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

it.each([
  ["another audience", { aud: "https://other.example.com/mcp" }],
  ["a scope of Belljar that there is not", { scope: "belljar belljar:readonly" }],
])("refuses, as any wrong token, %s", async (_what, claims) => {
  await using lab = await openLab();
  const response = await lab.ask(await lab.issuer.token(claims));
  expect(response.status).toBe(401);
  expect(response.headers.get("www-authenticate")).toContain('error="invalid_token"');
  expect(await response.json()).toMatchObject({ error: { code: "UNAUTHORIZED" } });
});

it("says that a scope is missing when a good token is for other things", async () => {
  await using lab = await openLab();
  for (const scope of [undefined, "", "openid profile workspaces"]) {
    const response = await lab.ask(await lab.issuer.token({ scope }));
    expect(response.status).toBe(403);
    expect(response.headers.get("www-authenticate")).toContain('error="insufficient_scope", scope="belljar"');
  }
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
