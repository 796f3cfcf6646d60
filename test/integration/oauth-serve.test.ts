import { expect, it } from "vitest";
import { openOAuthIssuer } from "../support/oauth-issuer.ts";
import { openTestHome, openTestServer } from "../support/served-home.ts";

const AUDIENCE = "https://belljar.example.com/mcp";

it("belljar serve takes an issuer's tokens beyond loopback, and holds their scopes", async () => {
  await using home = await openTestHome();
  await using issuer = await openOAuthIssuer({ audience: AUDIENCE });
  const oauth = { BELLJAR_HOST: "0.0.0.0", BELLJAR_OAUTH_ISSUER: issuer.issuer, BELLJAR_OAUTH_AUDIENCE: AUDIENCE };
  await using server = await openTestServer({ ...home, env: { ...home.env, ...oauth } });
  const { port } = new URL(server.url);
  const ask = async (method: string, path: string, token?: string) => {
    const headers = { "content-type": "application/json", ...(token !== undefined && { authorization: `Bearer ${token}` }) };
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers, ...(method === "POST" && { body: "{}" }) });
    const text = await response.text();
    return { status: response.status, json: (text === "" ? {} : JSON.parse(text)) as Record<string, unknown> };
  };
  expect((await ask("GET", "/v1/sandboxes")).status).toBe(401);
  expect((await ask("GET", "/.well-known/oauth-protected-resource")).json).toMatchObject({ resource: AUDIENCE });
  const maker = await issuer.token({ sub: "ann", scope: "openid belljar:sandboxes:1" });
  const made = await ask("POST", "/v1/sandboxes", maker);
  expect(made).toMatchObject({ status: 201, json: { owner: "oauth:ann" } });
  expect((await ask("POST", "/v1/sandboxes", maker)).status).toBe(429);
  const path = `/v1/sandboxes/${String(made.json["id"])}`;
  expect((await ask("GET", path, await issuer.token({ sub: "bob" }))).status).toBe(404);
  expect((await ask("DELETE", path, await issuer.token({ sub: "ann", scope: "belljar:read-only" }))).status).toBe(403);
  expect((await ask("DELETE", path, maker)).status).toBe(204);
});

it("belljar serve says which half of OAuth is missing", async () => {
  await using home = await openTestHome();
  const env = { ...home.env, BELLJAR_OAUTH_ISSUER: "https://id.example.com" };
  await expect(openTestServer({ ...home, env })).rejects.toThrow(/needs both oauth\.issuer and oauth\.audience/);
});
