import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { FastifyInstance } from "fastify";
import { expect, it } from "vitest";
import { createFacadeSettings } from "../../src/gateway/facade/facade-settings.ts";
import { createGateway } from "../../src/gateway/gateway.ts";
import { createSecretStore } from "../../src/network/secrets/create-secret-store.ts";
import { createCallProbe } from "../support/call-probe.ts";
import { createNoSandboxes } from "../support/no-sandboxes.ts";

const REFERENCE = readFileSync(join(import.meta.dirname, "../../docs/reference/http-api.md"), "utf8");
/** Served beside Fastify's routes, as it is no request with an answer. */
const UPGRADE = "GET /v1/sandboxes/:id/guest";
const CREATED = "fastify.initialization";

/** What the real gateway adds to its Fastify, which tells of itself on a diagnostics channel. */
async function collectRoutes(): Promise<readonly string[]> {
  const routes: string[] = [];
  const watch = (message: unknown): void => {
    const { fastify } = message as { fastify: FastifyInstance };
    fastify.addHook("onRoute", ({ method, url }) => void routes.push(...[method].flat().map((one) => `${one} ${url}`)));
  };
  subscribe(CREATED, watch);
  const { tools } = createCallProbe();
  const gateway = createGateway({
    config: { host: "127.0.0.1", port: 0 },
    sandboxes: createNoSandboxes(),
    tools,
    facade: { tools, settings: createFacadeSettings(createSecretStore({ home: "/nowhere" })) },
    isolation: () => Promise.reject(new Error("nobody asks")),
    version: "1.2.3",
    log: { error: () => undefined },
  });
  unsubscribe(CREATED, watch);
  await gateway.listen();
  await gateway.close(0);
  return routes.filter((route) => !route.startsWith("HEAD ")).toSorted();
}

/** Scripts and clients of other versions call these. */
it("keeps every route", async () => {
  expect(await collectRoutes()).toMatchInlineSnapshot(`
    [
      "DELETE /mcp",
      "DELETE /v1/sandboxes/:id",
      "DELETE /v1/secrets/:name",
      "GET /.well-known/oauth-protected-resource",
      "GET /.well-known/oauth-protected-resource/mcp",
      "GET /health",
      "GET /mcp",
      "GET /mcp/health",
      "GET /mcp/tools",
      "GET /metrics",
      "GET /openapi.json",
      "GET /ready",
      "GET /tools",
      "GET /v1/doctor",
      "GET /v1/sandboxes",
      "GET /v1/sandboxes/:id",
      "GET /v1/sandboxes/:id/environment",
      "GET /v1/sandboxes/:id/network",
      "GET /v1/sandboxes/:id/ports",
      "GET /v1/sandboxes/:id/usage",
      "GET /v1/secrets",
      "POST /credential",
      "POST /custom-mcp",
      "POST /mcp",
      "POST /mcp/credential",
      "POST /mcp/custom-mcp",
      "POST /mcp/register-codex",
      "POST /mcp/tool-server-url",
      "POST /mcp/tools/call",
      "POST /register-codex",
      "POST /tool-server-url",
      "POST /tools/call",
      "POST /v1/default-sandboxes/:name",
      "POST /v1/sandboxes",
      "POST /v1/sandboxes/:id/extend",
      "POST /v1/sandboxes/:id/ports",
      "PUT /v1/sandboxes/:id/network",
      "PUT /v1/secrets/:name",
    ]
  `);
});

it("has a row in the reference for every route, and no other", async () => {
  const rows = [...REFERENCE.matchAll(/^\| `(\w+ [^`]+)`/gm)].map(([, route]) => route);
  const documented = new Set([...rows, "DELETE /mcp", "GET /mcp"]);
  expect(documented).toEqual(new Set([...(await collectRoutes()), UPGRADE]));
});
