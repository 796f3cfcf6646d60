import { channel } from "node:diagnostics_channel";
import type { IncomingMessage, ServerResponse } from "node:http";
import { fastify } from "fastify";
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from "fastify";
import { assertOneHost } from "../../network/ports/port-target.ts";
import type { Principal } from "../../sandbox/sandbox.ts";
import type { RequestAudit } from "../audit-requests.ts";
import { auditRequests } from "../audit-requests.ts";
import { assertDeclared, DOOR } from "../auth/access.ts";
import type { Challenge } from "../auth/admit.ts";
import { admit } from "../auth/admit.ts";
import type { TokenVerifier } from "../auth/authenticate.ts";
import type { Callers } from "../auth/callers.ts";
import { createCallers } from "../auth/callers.ts";
import { answerErrors, answerUnreadablePath, NO_SNIFFING } from "../error-answer.ts";
import type { GatewayLog } from "../gateway-log.ts";
import { goneSignal } from "../../async/gone-signal.ts";
import { isLoopback } from "../loopback.ts";
import type { ServerMetrics } from "../metrics/server-metrics.ts";
import { validatorOf } from "../parse-request.ts";
import { REQUEST_ID_HEADER, requestIdOf } from "../request-id.ts";
import type { Asked, Route } from "../routes/route.ts";
import type { ServedRoute } from "../routes/routes.ts";
import { addRoutes, requireAccess } from "../routes/routes.ts";
import type { Upgrade } from "../routes/upgrade-route.ts";
import { createArrivals } from "./arrivals.ts";
import { assertTaken, BODY_LIMIT_BYTES, readBodies } from "./bodies.ts";
import { allowPages, isPreflight } from "./cors.ts";
import { assertOwnHost, assertOwnPage } from "./origin-guard.ts";
import type { RoutedSurface } from "./surface.ts";
import { serveUpgrade } from "./serve-upgrade.ts";

/** Characters of one value in a path: 200 of E2B's ids, each percent-encoded. The routes' schemas allow less. */
const PARAM_MAX = 600;

const TAKES_BODY: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"]);

/** What every surface of an origin shares. */
export interface SurfaceAppOptions {
  /** The configured one. */
  readonly host: string;
  /** Who knows the holders of tokens. */
  readonly verifiers: readonly TokenVerifier[];
  /** Where clients learn how to get a token, when an issuer makes them. */
  readonly metadataUrl?: string;
  /** Learns what must be known of a caller before it is served. Never rejects. */
  readonly prepare?: (principal: Principal) => Promise<void>;
  readonly audit?: RequestAudit;
  readonly metrics?: Pick<ServerMetrics, "observeRequest">;
  /**
   * Time for each part of a request: its connection, its head, and its body, of which a body that is read as it comes may pause that
   * long. Default: 60 s.
   */
  readonly arrivalMs?: number;
  readonly log: GatewayLog;
}

export const ARRIVAL_MS = 60_000;

/** What is served, and what it asks of its caller. */
export interface SurfaceRoute extends ServedRoute {
  readonly surface: string;
}

/** A routed surface that is served. */
export interface SurfaceApp {
  /** All, with what is upgraded; whole once it is ready. */
  routes(): readonly SurfaceRoute[];
  readonly paths: readonly string[];
  ready(): Promise<void>;
  handle(request: IncomingMessage, response: ServerResponse): void;
  upgrade(upgrade: Upgrade): void;
  /** Lets what is under way end for at most `graceMs`. */
  endWork(graceMs: number): Promise<void>;
  close(): Promise<void>;
}

/** Throws for a route that does not say what it asks of its caller, and for a surface that would let pages act as the local user. */
export function createSurfaceApp(surface: RoutedSurface, options: SurfaceAppOptions): SurfaceApp {
  assertSafe(surface);
  for (const { path, access } of surface.upgrades ?? []) assertDeclared(access, `GET ${path}`);
  const reached = new WeakMap<IncomingMessage, string>();
  const callers = createCallers(authenticationOf(surface, options));
  const app = fastify({
    bodyLimit: BODY_LIMIT_BYTES,
    routerOptions: { maxParamLength: PARAM_MAX },
    genReqId: requestIdOf,
    frameworkErrors: (_error, request, reply) => answerUnreadablePath({ request, reply }, surface, options.log),
  });
  const routes = requireAccess(app);
  app.setValidatorCompiler(validatorOf);
  const arrivals = createArrivals(options.arrivalMs ?? ARRIVAL_MS);
  readBodies(app, arrivals);
  answerErrors(app, surface, options.log);
  if (options.audit) auditRequests(app, options.audit, { callers, reached });
  if (options.metrics) observeRequests(app, options.metrics);
  guardRequests(app, { surface, callers, options });
  const told = new WeakMap<IncomingMessage, number>();
  addRoutes(app, surface.routes, (route) => handlerOf(route, { callers, reached, told }));
  const { host, log, audit } = options;
  const upgrades = surface.upgrades ?? [];
  const challenge = challengeOf(surface, options);
  const switching = { surface, routes: upgrades, host, callers, challenge, audit, log };
  const switched = upgrades.map(({ path, access, summary }) => ({ method: "GET", path, access, summary }));
  return {
    routes: () => [...routes, ...switched].map((route) => ({ surface: surface.name, ...route })),
    paths: [...surface.routes, ...upgrades].map(({ path }) => path),
    async ready() {
      await app.ready();
    },
    handle(request, response) {
      arrivals.start(request);
      app.routing(request, response);
    },
    upgrade: (upgrade) => serveUpgrade(switching, upgrade),
    endWork: async (graceMs) => surface.close?.(graceMs),
    close: () => app.close(),
  };
}

function assertSafe({ name, cors, authentication }: RoutedSurface): void {
  if (cors === "none" || authentication.localUser === "never") return;
  throw new TypeError(`The surface ${name} is open to pages of other sites, which would act as the local user: give it localUser "never"`);
}

function authenticationOf({ authentication: { localUser, ...more } }: RoutedSurface, { host, verifiers }: SurfaceAppOptions) {
  return { ...more, verifiers, allowsLocal: localUser === "loopback" && isLoopback(host) };
}

interface Guarded {
  readonly surface: RoutedSurface;
  readonly callers: Callers;
  readonly options: SurfaceAppOptions;
}

/** A client that sends its token in a header of its own knows nothing of bearer tokens. */
function challengeOf({ authentication }: RoutedSurface, { metadataUrl }: SurfaceAppOptions): Challenge | undefined {
  return authentication.tokenOf === undefined && authentication.identify === undefined ? { metadataUrl } : undefined;
}

/** Before anything of a request is read: whose page, which types, who, which scopes. */
function guardRequests(app: FastifyInstance, { surface, callers, options }: Guarded): void {
  const { host, prepare } = options;
  const challenge = challengeOf(surface, options);
  app.addHook("onRequest", async (request, reply) => {
    nameRequest(request, reply);
    const { method, headers, routeOptions } = request;
    // A path that does not exist needs a valid caller, who is then told that it does not exist.
    const access = request.is404 ? DOOR : assertDeclared(routeOptions.config.access, `${method} ${routeOptions.url ?? ""}`);
    assertOneHost(request.raw.rawHeaders);
    assertOwnHost(request.raw, host, surface.reach);
    if (surface.cors === "none") assertOwnPage(headers);
    else allowPages(request, reply);
    if (surface.cors === "any" && isPreflight(request.raw)) return reply.code(204).send();
    if (TAKES_BODY.has(method)) assertTaken(headers, routeOptions.config.route);
    if (access.kind === "open") return;
    const caller = await admit({ request, reply, access }, callers, challenge);
    await prepare?.(caller);
  });
}

/** On the raw response, as that of MCP is written by the SDK; and on the request, for what serves it. No browser takes an answer for a page by its content. */
function nameRequest({ id, raw }: FastifyRequest, reply: FastifyReply): void {
  raw.headers[REQUEST_ID_HEADER] = id;
  reply.raw.setHeader(REQUEST_ID_HEADER, id).setHeader(NO_SNIFFING.name, NO_SNIFFING.value);
}

function observeRequests(app: FastifyInstance, metrics: Pick<ServerMetrics, "observeRequest">): void {
  app.addHook("onRequest", async ({ method, routeOptions }, { raw }) => {
    const startedAt = performance.now();
    // What was hijacked has no hook at its end.
    raw.once("close", () => {
      const seconds = (performance.now() - startedAt) / 1_000;
      metrics.observeRequest({ method, route: routeOptions.url ?? "none", status: raw.statusCode, seconds });
    });
  });
}

/** Tells whoever subscribes what each route answered, as `{ route, status, body }`. The tests hold it against the route's own schema. */
const ANSWERS = channel("belljar.answer");

function handlerOf(route: Route, known: Known): RouteHandlerMethod {
  const { told } = known;
  const success = Number(Object.keys(route.answers)[0] ?? 200);
  return async (request, reply) => {
    const body = await route.handle(askedOf(request, reply, known));
    if (reply.sent) return reply;
    const status = told.get(request.raw) ?? success;
    if (ANSWERS.hasSubscribers) ANSWERS.publish({ route, status, body });
    // A client that reads JSON of whatever has no length fails on an empty answer.
    return body === undefined && status !== 204 ? reply.code(status).header("content-length", 0).send() : reply.code(status).send(body);
  };
}

/** What is known of the requests that are being served. */
interface Known {
  readonly callers: Callers;
  readonly reached: WeakMap<IncomingMessage, string>;
  /** The statuses that routes chose. */
  readonly told: WeakMap<IncomingMessage, number>;
}

function askedOf(request: FastifyRequest, reply: FastifyReply, { callers, reached, told }: Known): Asked {
  const { params, query, body, id: requestId, raw } = request;
  let signal: AbortSignal | undefined;
  return {
    get caller() {
      return callers.of(raw);
    },
    params,
    query,
    body,
    requestId,
    request: raw,
    reached: (sandboxId) => void reached.set(raw, sandboxId),
    get signal() {
      return (signal ??= goneSignal(reply.raw));
    },
    get origin() {
      // A connection that is gone has no protocol.
      const { protocol = "http" } = request as { readonly protocol?: string };
      return `${protocol}://${request.host}`;
    },
    setType: (type) => void reply.type(type),
    setStatus: (status) => void told.set(raw, status),
    setHeader: (name, value) => void reply.header(name, value),
    takeOver() {
      reply.hijack();
      return { request: raw, response: reply.raw };
    },
  };
}
