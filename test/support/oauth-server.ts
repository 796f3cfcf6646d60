import { createHash, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { createMcpHandler, fromJsonSchema, McpServer } from "@modelcontextprotocol/server";
import { toNodeHandler } from "@modelcontextprotocol/node";

export interface OAuthServerOptions {
  /** Seconds that an access token says it lives. */
  readonly lifeS?: number;
  /** Replaces the answer to a path, as a hostile server would. True if it answered. */
  readonly answer?: (path: string, response: ServerResponse, own: OAuthServer) => boolean;
  /** Scopes that a call needs. */
  readonly callScope?: string;
  /** Changes the metadata of the authorization server. */
  readonly metadata?: (plain: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>;
  /** Runs after a refresh token was taken, before its answer. */
  readonly renewing?: () => Promise<void>;
  /** Changes the query that the browser comes back with. */
  readonly redirect?: (query: URLSearchParams) => void;
}

interface Grant {
  readonly scope: string;
  isOver: boolean;
}

/** An MCP server and its authorization server, on one port of loopback. */
export interface OAuthServer extends AsyncDisposable {
  readonly origin: string;
  readonly url: string;
  /** `POST /token`, in their order. */
  readonly asked: readonly string[];
  /** Every header `Authorization` that it was sent. */
  readonly credentials: readonly string[];
  /** What the token endpoint was sent. */
  readonly tokenRequests: readonly URLSearchParams[];
  /** Every token that was given. */
  readonly given: readonly string[];
  /** From now on no access token is good that was given before. */
  expire(): void;
  /** From now on no refresh token is good that was given before. */
  forget(): void;
  /** What a browser does at an address: resolves with the address that it ends up at. */
  browse(address: string | URL): Promise<URL>;
}

export async function openOAuthServer(options: OAuthServerOptions = {}): Promise<OAuthServer> {
  const { lifeS = 3600, answer, callScope, metadata = (plain) => plain, redirect, renewing } = options;
  const asked: string[] = [];
  const credentials: string[] = [];
  const tokenRequests: URLSearchParams[] = [];
  const given: string[] = [];
  const codes = new Map<string, { readonly challenge: string; readonly scope: string; readonly redirectUrl: string }>();
  const access = new Map<string, Grant>();
  const refresh = new Map<string, Grant>();
  const clients = new Map<string, readonly string[]>();
  const mcp = toNodeHandler(createMcpHandler(buildServer));

  const routes: Record<string, (request: IncomingMessage, response: ServerResponse) => void | Promise<void>> = {
    "/.well-known/oauth-protected-resource/mcp": (_request, response) =>
      json(response, { resource: own.url, authorization_servers: [own.origin], scopes_supported: ["read"] }),
    "/.well-known/oauth-authorization-server": (_request, response) => json(response, metadata(plainMetadata(own.origin))),
    "/register": async (request, response) => {
      const wanted = JSON.parse(await text(request)) as { redirect_uris: string[] };
      const id = `client-${clients.size + 1}`;
      clients.set(id, wanted.redirect_uris);
      json(response, { ...wanted, client_id: id }, 201);
    },
    "/authorize": (request, response) => {
      const { searchParams: query } = new URL(request.url ?? "", own.origin);
      const redirectUrl = query.get("redirect_uri") ?? "";
      if (!clients.get(query.get("client_id") ?? "")?.includes(redirectUrl)) return json(response, { error: "invalid_request" }, 400);
      const code = randomUUID();
      codes.set(code, { challenge: query.get("code_challenge") ?? "", scope: query.get("scope") ?? "", redirectUrl });
      const back = new URL(redirectUrl);
      back.search = new URLSearchParams({ code, state: query.get("state") ?? "", iss: own.origin }).toString();
      redirect?.(back.searchParams);
      response.writeHead(302, { location: back.href }).end();
    },
    "/token": async (request, response) => {
      const form = new URLSearchParams(await text(request));
      tokenRequests.push(form);
      const scope = form.get("grant_type") === "refresh_token" ? takeRefresh(form) : takeCode(form);
      if (scope === undefined) return json(response, { error: "invalid_grant", error_description: form.get("refresh_token") ?? "no" }, 400);
      if (form.get("grant_type") === "refresh_token") await renewing?.();
      const [accessToken, refreshToken] = [`access-${randomUUID()}`, `refresh-${randomUUID()}`];
      given.push(accessToken, refreshToken);
      access.set(accessToken, { scope, isOver: false });
      refresh.set(refreshToken, { scope, isOver: false });
      json(response, { access_token: accessToken, refresh_token: refreshToken, token_type: "Bearer", expires_in: lifeS, scope });
    },
    "/revoke": async (request, response) => {
      refresh.delete(new URLSearchParams(await text(request)).get("token") ?? "");
      response.writeHead(200).end();
    },
    "/mcp": async (request, response) => {
      const grant = access.get(request.headers.authorization?.replace("Bearer ", "") ?? "");
      const about = `resource_metadata="${own.origin}/.well-known/oauth-protected-resource/mcp"`;
      if (!grant || grant.isOver) return void response.writeHead(401, { "www-authenticate": `Bearer ${about}` }).end();
      const lacks =
        callScope !== undefined && request.headers["mcp-method"] === "tools/call" && !grant.scope.split(" ").includes(callScope);
      const challenge = `Bearer error="insufficient_scope", scope="${callScope}", ${about}`;
      if (lacks) return void response.writeHead(403, { "www-authenticate": challenge }).end();
      await mcp(request, response);
    },
  };
  /** A code is good once, for the verifier of its challenge. */
  const takeCode = (form: URLSearchParams): string | undefined => {
    const code = codes.get(form.get("code") ?? "");
    codes.delete(form.get("code") ?? "");
    const challenge = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url");
    return code?.challenge === challenge && code.redirectUrl === form.get("redirect_uri") ? code.scope : undefined;
  };
  /** A refresh token that comes twice ends all of them, as RFC 9700 has it. */
  const takeRefresh = (form: URLSearchParams): string | undefined => {
    const grant = refresh.get(form.get("refresh_token") ?? "");
    if (grant?.isOver) refresh.clear();
    if (!grant || grant.isOver) return undefined;
    grant.isOver = true;
    return grant.scope;
  };

  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "", "http://x");
    asked.push(`${request.method} ${pathname}`);
    if (request.headers.authorization !== undefined) credentials.push(request.headers.authorization);
    const route = routes[pathname];
    if (answer?.(pathname, response, own)) return;
    if (route) void route(request, response);
    else response.writeHead(404).end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const own: OAuthServer = {
    origin,
    url: `${origin}/mcp`,
    asked,
    credentials,
    tokenRequests,
    given,
    expire: () => access.forEach((grant) => (grant.isOver = true)),
    forget: () => refresh.clear(),
    async browse(address) {
      const { headers, status } = await fetch(address, { redirect: "manual" });
      const location = headers.get("location");
      if (location === null) throw new Error(`The authorization server answered ${status}`);
      return new URL(location);
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
  return own;
}

function plainMetadata(origin: string): Readonly<Record<string, unknown>> {
  return {
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
    revocation_endpoint: `${origin}/revoke`,
    response_types_supported: ["code"],
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: ["none"],
    authorization_response_iss_parameter_supported: true,
  };
}

function buildServer(): McpServer {
  const server = new McpServer({ name: "far", version: "1" });
  const inputSchema = fromJsonSchema<{ text: string }>({ type: "object", properties: { text: { type: "string" } }, required: ["text"] });
  server.registerTool("echo", { inputSchema }, async ({ text: said }) => ({ content: [{ type: "text", text: said }] }));
  return server;
}

function json(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
}
