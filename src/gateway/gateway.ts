import { once } from "node:events";
import { fastify } from "fastify";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { VALUES_MAX } from "../catalog/value-count.ts";
import { BelljarError } from "../errors.ts";
import type { Isolation } from "../runtime/runtime.ts";
import { createMcpHttp } from "../mcp/server/http.ts";
import type { McpHttp } from "../mcp/server/http.ts";
import type { PromptDoor } from "../mcp/server/prompt-door.ts";
import type { ResourceDoor } from "../mcp/server/resource-door.ts";
import type { ToolDoor } from "../mcp/server/tool-door.ts";
import type { ClaimedPort, OwnListeners } from "../network/own-listeners.ts";
import { assertOneHost } from "../network/ports/port-target.ts";
import { createPortRouter } from "../network/ports/port-router.ts";
import type { PortRouter } from "../network/ports/port-router.ts";
import { findPortSandbox } from "../sandbox/port-sandbox.ts";
import type { SecretVault } from "../secrets/secret-store.ts";
import type { Principal, Sandboxes } from "../sandbox/sandbox.ts";
import type { TokenVerifier } from "./auth/authenticate.ts";
import type { RequestAudit } from "./audit-requests.ts";
import { auditRequests } from "./audit-requests.ts";
import { admit } from "./auth/admit.ts";
import { assertDeclared, DOOR } from "./auth/access.ts";
import { createAuthenticate } from "./auth/authenticate.ts";
import type { Callers } from "./auth/callers.ts";
import { createCallers } from "./auth/callers.ts";
import type { ProtectedResource } from "./auth/oauth/protected-resource.ts";
import { answerErrors, answerUnreadablePath } from "./error-answer.ts";
import type { GatewayLog } from "./gateway-log.ts";
import { assertListenable, isLoopback } from "./loopback.ts";
import { createHttpServer } from "./http-server.ts";
import { jsonHasMoreValues } from "./json-values.ts";
import { assertJson, assertOwnOrigin, isOwnName } from "./origin-guard.ts";
import type { ServerMetrics } from "./metrics/server-metrics.ts";
import { REQUEST_ID_HEADER, requestIdOf } from "./request-id.ts";
import { doctorRoute } from "./routes/doctor.ts";
import type { FacadeRouteOptions } from "./routes/facade.ts";
import { facadeRoutes, openApiRoute } from "./routes/facade.ts";
import { guestUpgrade } from "./routes/guest.ts";
import { healthRoute } from "./routes/health.ts";
import { mcpRoute } from "./routes/mcp.ts";
import { mcpSseRoutes } from "./routes/mcp-sse.ts";
import { metricsRoute } from "./routes/metrics.ts";
import { networkRoutes } from "./routes/network.ts";
import { protectedResourceRoutes } from "./routes/protected-resource.ts";
import { portRoutes } from "./routes/ports.ts";
import type { RouteGroup, ServedRoute } from "./routes/routes.ts";
import { addRoutes, requireAccess } from "./routes/routes.ts";
import { sandboxRoutes } from "./routes/sandboxes.ts";
import { secretRoutes } from "./routes/secrets.ts";
import { serveUpgrades } from "./upgrades.ts";

export interface GatewayOptions {
  readonly config: { readonly host: string; readonly port: number; readonly legacySse?: boolean };
  readonly sandboxes: Sandboxes;
  readonly secrets?: SecretVault;
  readonly tools: ToolDoor;
  readonly resources?: ResourceDoor;
  readonly prompts?: PromptDoor;
  readonly isolation: () => Promise<Isolation>;
  /** Tools over plain HTTP, and what callers told of their tool servers. Absent: not served. */
  readonly facade?: Pick<FacadeRouteOptions, "tools" | "settings" | "defaultSandbox">;
  /** Learns what must be known of a caller before it is served. Never rejects. */
  readonly prepare?: (principal: Principal) => Promise<void>;
  readonly metrics?: ServerMetrics;
  /** For the metrics. */
  readonly liveSandboxes?: () => number;
  /** Throws while calls would fail, as when the audit cannot be written. */
  readonly assertReady?: () => void;
  /** Who knows the holders of tokens. Without any only this machine is served. */
  readonly tokens?: readonly TokenVerifier[];
  /** Where it says on which port it listens, so that no sandbox is led there. */
  readonly listeners?: Pick<OwnListeners, "claim">;
  /** Where requests that are no tool calls are written down. */
  readonly audit?: RequestAudit;
  /** Holders of an issuer's access tokens are served too. */
  readonly oauth?: ProtectedResource;
  readonly version: string;
  readonly log: GatewayLog;
}

/** The HTTP origin: MCP, REST and the streams to guests. */
export interface Gateway {
  /** Resolves with the address once it accepts requests. Rejects with `CONFIG_INVALID` for an address that others reach. */
  listen(): Promise<URL>;
  /** All that it serves, and what each asks of its caller; whole once it listens. Ports of sandboxes are asked for beside it, by their links. */
  readonly routes: readonly ServedRoute[];
  /** Takes no new requests, lets calls in flight end for at most `graceMs`, then cuts them. */
  close(graceMs?: number): Promise<void>;
}

/** What a request may hold; one limit for every route. */
const BODY_LIMIT_BYTES = 4 * 1024 * 1024;
/** Below the second within which a signal ends the server. */
const GRACE_MS = 500;

export function createGateway(options: GatewayOptions): Gateway {
  const { config, log } = options;
  const onError = (error: unknown, requestId?: string): void => log.error({ err: error, requestId }, "mcp call failed");
  const mcp = createMcpHttp({ ...mcpSources(options), version: options.version, onError });
  options.metrics?.watch({ sandboxes: options.liveSandboxes ?? (() => 0), sessions: () => mcp.sessionCount() });
  const callers = createCallers(createAuthenticate({ verifiers: verifiersOf(options), allowsLocal: isLoopback(config.host) }));
  const ports = createGatewayPorts(options);
  let isClosing = false;
  let claimed: ClaimedPort | undefined;
  const assertReady = (): void => {
    if (isClosing) throw new BelljarError("SERVER_UNREACHABLE", "The server is stopping");
    options.assertReady?.();
  };
  const { app, routes } = createApp(options, { mcp, callers, ports, assertReady });
  const upgradeRoutes = [guestUpgrade({ sandboxes: options.sandboxes, ...(options.audit && { audit: options.audit }) })];
  const upgrades = serveUpgrades(app.server, ports, { routes: upgradeRoutes, host: config.host, callers, log });
  return {
    get routes() {
      return [...routes, ...upgradeRoutes.map(({ path, access }) => ({ method: "GET", path, access }))];
    },
    async listen() {
      assertListenable(config.host, verifiersOf(options).length > 0);
      claimed = await options.listeners?.claim(config);
      const port = claimed?.port ?? config.port;
      return new URL(
        await app.listen({ host: config.host, port }).catch(async (error: unknown) => {
          await claimed?.[Symbol.asyncDispose]();
          claimed = undefined;
          throw error;
        }),
      );
    },
    async close(graceMs = GRACE_MS) {
      isClosing = true;
      const stopped = stopAccepting(app);
      await mcp.close(graceMs);
      upgrades.close();
      ports.close();
      app.server.closeAllConnections();
      await stopped;
      await claimed?.[Symbol.asyncDispose]();
    },
  };
}

function verifiersOf({ tokens = [], oauth }: GatewayOptions): readonly TokenVerifier[] {
  return oauth ? [...tokens, oauth.verifier] : tokens;
}

/** Ports are open to who holds a link, whoever that is. */
function createGatewayPorts({ config, sandboxes, log, oauth }: GatewayOptions): PortRouter {
  return createPortRouter({
    find: findPortSandbox(sandboxes),
    // Beyond loopback a server has names that it does not know.
    ...(oauth && { isOwnToken: (token) => oauth.isOurs(token) }),
    isOwnName: (name) => !isLoopback(config.host) || isOwnName(name, config.host),
    onFailure: (err, requestId) => log.error({ err, requestId }, "port request failed"),
  });
}

interface App {
  readonly app: FastifyInstance;
  readonly routes: readonly ServedRoute[];
}

interface Served {
  readonly mcp: McpHttp;
  readonly callers: Callers;
  readonly ports: PortRouter;
  readonly assertReady: () => void;
}

function mcpSources({ tools, resources, prompts }: GatewayOptions) {
  return { tools, ...(resources && { resources }), ...(prompts && { prompts }) };
}

function createApp(options: GatewayOptions, { mcp, callers, ports, assertReady }: Served): App {
  const { oauth } = options;
  const app = fastify({
    bodyLimit: BODY_LIMIT_BYTES,
    serverFactory: (own) => createHttpServer(ports, own),
    genReqId: requestIdOf,
    return503OnClosing: true,
    forceCloseConnections: false,
    frameworkErrors: (_error, request, reply) => answerUnreadablePath(request, reply, options.log),
  });
  const routes = requireAccess(app);
  readJsonAlone(app);
  answerErrors(app, options.log);
  if (options.audit) auditRequests(app, options.audit, callers);
  const { metrics, prepare } = options;
  if (metrics) observeRequests(app, metrics);
  app.addHook("onRequest", async (request, reply) => {
    nameRequest(request, reply);
    const { method, headers, routeOptions } = request;
    // A path that does not exist needs a valid caller, who is then told that it does not exist.
    const access = request.is404 ? DOOR : assertDeclared(routeOptions.config.access, `${method} ${routeOptions.url ?? ""}`);
    assertOneHost(request.raw.rawHeaders);
    assertOwnOrigin(headers, options.config.host);
    if (method === "POST" || method === "PUT") assertJson(headers);
    if (access.kind === "open") return;
    const caller = await admit({ request, reply, access }, { callers, ...(oauth && { metadataUrl: oauth.metadataUrl }) });
    await prepare?.(caller);
  });
  for (const group of groupsOf(options, { mcp, callers, ports, assertReady })) addRoutes(app, group);
  const { facade, sandboxes, version } = options;
  if (!facade) return { app, routes };
  addRoutes(app, openApiRoute(version));
  for (const prefix of ["", "/mcp"]) addRoutes(app, facadeRoutes({ ...facade, sandboxes, callers }), prefix);
  return { app, routes };
}

function groupsOf(options: GatewayOptions, { mcp, callers, assertReady }: Served): readonly RouteGroup[] {
  const { sandboxes, secrets, log, metrics, oauth, isolation, config } = options;
  return [
    healthRoute(assertReady),
    metricsRoute(metrics),
    protectedResourceRoutes(oauth),
    mcpRoute({ mcp, callers, log }),
    ...(config.legacySse ? [mcpSseRoutes({ mcp, callers, log })] : []),
    doctorRoute(isolation),
    networkRoutes({ sandboxes, callers }),
    portRoutes({ sandboxes, callers }),
    sandboxRoutes({ sandboxes, callers, log }),
    secretRoutes({ secrets, callers }),
  ];
}

/** On the raw response, as that of MCP is written by the SDK; and on the request, for what serves it. */
function nameRequest({ id, raw }: FastifyRequest, reply: FastifyReply): void {
  raw.headers[REQUEST_ID_HEADER] = id;
  reply.raw.setHeader(REQUEST_ID_HEADER, id);
}

function observeRequests(app: FastifyInstance, metrics: ServerMetrics): void {
  app.addHook("onRequest", async ({ method, routeOptions }, { raw }) => {
    const startedAt = performance.now();
    // What was hijacked has no hook at its end.
    raw.once("close", () => {
      const seconds = (performance.now() - startedAt) / 1_000;
      metrics.observeRequest({ method, route: routeOptions.url ?? "none", status: raw.statusCode, seconds });
    });
  });
}

/** A GET or DELETE that names a type without sending a body is served. */
function readJsonAlone(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser("error", "error");
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", { parseAs: "string" }, (request, body, done) => {
    if (body === "" && request.method !== "POST") return done(null, undefined);
    if (jsonHasMoreValues(String(body), VALUES_MAX)) return done(tooManyValues());
    return parse(request, String(body), done);
  });
}

/** Parsing, and checking a schema, ours or the SDK's, takes a time that grows with the values, however short they are. */
function tooManyValues(): BelljarError {
  return new BelljarError("ARGUMENTS_INVALID", `The request's body holds more than ${VALUES_MAX} values; send fewer at once`);
}

/** Resolves when the last connection has gone. */
async function stopAccepting(app: FastifyInstance): Promise<void> {
  if (!app.server.listening) return app.close();
  const closed = once(app.server, "close");
  app.server.close();
  await closed;
  await app.close();
}
