import type { EventEmitter } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { closeSignal } from "../../async/close-signal.ts";
import { BelljarError } from "../../errors.ts";
import type { ConnectionLimits } from "./connection-shares.ts";
import { ConnectionShares } from "./connection-shares.ts";
import { assertAccess, firstVisit } from "./port-access.ts";
import type { OnPortFailure, PortAnswer } from "./port-answer.ts";
import { redirectAnswer, toOwnAnswer, toPortFailure } from "./port-answer.ts";
import type { PortFailure } from "./port-answer.ts";
import { pathStyleHeaders } from "./port-headers.ts";
import type { PortLink } from "./port-link.ts";
import { PortConnections } from "./port-pool.ts";
import { relayRequest } from "./port-relay.ts";
import type { PortAddress, PortTarget } from "./port-target.ts";
import { hostNameOf, isForPort, parsePortTarget } from "./port-target.ts";
import { relayUpgrade, writeAnswer } from "./port-upgrade.ts";

/** The part of a sandbox that the router needs. */
export interface PortSandbox {
  /** Whose connections count together. */
  readonly owner?: string | undefined;
  /** Opens a TCP connection to a port inside. The signal applies to its whole life. */
  dial(port: number, signal: AbortSignal): Promise<Duplex>;
  links(): Promise<readonly PortLink[]>;
  /**
   * Wakes it if it is paused, or rejects if that is not to be. A new connection does so by itself; one that was kept would wait. The signal ends the
   * wait for others who wake it.
   */
  resume(signal: AbortSignal): Promise<void>;
  /** What its maker said of its ports. Absent: they are opened by links alone. */
  readonly terms?: PortTerms;
}

export interface PortTerms {
  /** Whether the request may come in without the token of a link. */
  admits(request: Pick<IncomingMessage, "headers">, target: PortTarget): Promise<boolean>;
  /** Told of each request that came in so. `exchange` closes when it is served: its response, or the socket that left HTTP. */
  opened(request: IncomingMessage, exchange: EventEmitter): void;
  /** The Host for the program inside. Undefined: the request's. */
  hostFor(port: number): string | undefined;
}

export interface PortRouterOptions {
  /** Finds a sandbox by its full id. Rejects with `SANDBOX_NOT_FOUND` or `SANDBOX_ENDED`. */
  readonly find: (id: string) => Promise<PortSandbox>;
  /** Returns true for a host name of this server. Path style works only with such names, as a defence against DNS rebinding. */
  readonly isOwnName: (name: string) => boolean;
  /** Returns true for another bearer token that this server accepts (OAuth). Such tokens are hidden from programs inside. */
  readonly isOwnToken?: (token: string) => boolean;
  /** Reads which port a request is for. Throws as `parsePortTarget`, which is the default. */
  readonly parseTarget?: (request: PortAddress) => PortTarget;
  /** An unknown sandbox is told of as such. Default: as a port without a link, so that nobody learns which ids there are. */
  readonly tellsUnknown?: boolean;
  /** A failure in the form of other clients; undefined: in Belljar's own. */
  readonly tell?: (failure: PortFailure, request: IncomingMessage) => Promise<PortAnswer | undefined>;
  readonly onFailure: OnPortFailure;
  /** Of connections at a time. */
  readonly limits?: ConnectionLimits;
}

/**
 * The ways in from a browser: `http://PORT-ID.localhost/` and `/ports/ID/PORT/`. It answers all requests for which `takes` returns true,
 * and never throws. A client needs the link's token, unless the link is public.
 */
export interface PortRouter {
  takes(request: IncomingMessage): boolean;
  handle(request: IncomingMessage, response: ServerResponse): void;
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Ends every connection into a sandbox. */
  close(): void;
}

export function createPortRouter(options: PortRouterOptions): PortRouter {
  const ports = new Map<string, PortConnections>();
  const router: Router = { options, ports, shares: new ConnectionShares(options.limits) };
  return {
    takes: isForPort,
    handle: (request, response) => void serve(router, request, response),
    upgrade: (request, socket, head) => void switchOver(router, { request, socket, head }),
    close() {
      for (const connections of ports.values()) connections.close();
      ports.clear();
    },
  };
}

/** Of the answer to a first visit, which moves the token into a cookie or the path. */
const VISIT_STATUS = 303;

interface Router {
  readonly options: PortRouterOptions;
  readonly ports: Map<string, PortConnections>;
  readonly shares: ConnectionShares;
}

async function serve(router: Router, request: IncomingMessage, response: ServerResponse): Promise<void> {
  response.on("error", ignore);
  try {
    const { target, sandbox, ours } = await admit(router, request, response);
    if (ours) return answerWith(response, ours, request);
    await resumeFor(sandbox, response);
    const { connections, done } = useConnections(router, target, sandbox);
    await relayRequest(connections, { request, response, target }).finally(done);
  } catch (error) {
    const answer = await toAnswer(router, error, request);
    if (response.headersSent || response.destroyed) response.destroy();
    else answerWith(response, answer, request);
  }
}

async function switchOver(router: Router, { request, socket, head }: Pick<Upgrade, "request" | "socket" | "head">): Promise<void> {
  socket.on("error", () => socket.destroy());
  try {
    const { target, sandbox, ours } = await admit(router, request, socket);
    // Whoever opens a WebSocket follows no redirect. The token was in the query, which the program does not see.
    if (ours && !isVisit(ours)) return writeAnswer(socket, ours);
    await resumeFor(sandbox, socket);
    const { connections, done } = useConnections(router, target, sandbox);
    await relayUpgrade(connections, { request, socket, head, target }).finally(done);
  } catch (error) {
    const answer = await toAnswer(router, error, request);
    if (!socket.destroyed) writeAnswer(socket, answer);
  }
}

/** As long as the client is there. */
async function resumeFor(sandbox: PortSandbox, exchange: ServerResponse | Duplex): Promise<void> {
  using closed = closeSignal(exchange);
  await sandbox.resume(closed.signal);
}

async function toAnswer({ options }: Router, error: unknown, request: IncomingMessage): Promise<PortAnswer> {
  const { onFailure } = options;
  const failure = toPortFailure(error, onFailure);
  try {
    return (await options.tell?.(failure, request)) ?? toOwnAnswer(failure, request);
  } catch (cause) {
    onFailure(cause, failure.requestId);
    return toOwnAnswer(failure, request);
  }
}

interface Upgrade {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

interface Admission {
  readonly target: PortTarget;
  readonly sandbox: PortSandbox;
  /** Set if the router answers the request itself. */
  readonly ours?: PortAnswer;
}

/** Throws the error for the client. */
async function admit({ options }: Router, request: IncomingMessage, exchange: EventEmitter): Promise<Admission> {
  const target = (options.parseTarget ?? parsePortTarget)(request);
  if (target.style !== "host" && !options.isOwnName(hostNameOf(request).replace(/^\[|\]$/g, ""))) {
    throw new BelljarError("FORBIDDEN", "The Host header names another server; use the address that belljar serve printed");
  }
  const found = options.find(target.sandbox);
  const sandbox = await (options.tellsUnknown ? found : found.catch(unlessUnknown));
  if (options.isOwnToken) dropOwnTokens(request.rawHeaders, options.isOwnToken);
  if (sandbox?.terms && (await sandbox.terms.admits(request, target))) {
    sandbox.terms.opened(request, exchange);
    const innerHost = sandbox.terms.hostFor(target.port);
    return { sandbox, target: { ...target, ...(innerHost !== undefined && { innerHost }) } };
  }
  const link = (await sandbox?.links())?.find(({ port }) => port === target.port);
  assertAccess(link, request, target);
  // Both exist, because `assertAccess` throws without a link.
  if (!sandbox || !link) throw new TypeError("A port was opened without a link");
  const ours = ownAnswer(link, request, target);
  return { target, sandbox, ...(ours && { ours }) };
}

/** Removes the server's own tokens. A client may send its token with every request, but no sandbox may see it. */
function dropOwnTokens(rawHeaders: string[], isOwnToken: (token: string) => boolean): void {
  for (let at = rawHeaders.length - 2; at >= 0; at -= 2) {
    if (rawHeaders[at]?.toLowerCase() !== "authorization") continue;
    const [, token] = /^bearer +(\S+)/i.exec(rawHeaders[at + 1] ?? "") ?? [];
    if (token !== undefined && isOwnToken(token)) rawHeaders.splice(at, 2);
  }
}

/** Makes an unknown sandbox look like a sandbox without a link. */
function unlessUnknown(error: unknown): undefined {
  if (error instanceof BelljarError && error.code === "SANDBOX_NOT_FOUND") return undefined;
  throw error;
}

function ownAnswer(link: PortLink, request: IncomingMessage, target: PortTarget): PortAnswer | undefined {
  const visit = firstVisit(link, request, target);
  if (visit) return redirectAnswer(VISIT_STATUS, visit.location, visit.cookie);
  // Relative links need the slash at the end of the path.
  if (!target.path.startsWith("/")) return redirectAnswer(308, `${target.prefix}/${target.path}`);
  return preflight(request, target);
}

function isVisit({ status }: PortAnswer): boolean {
  return status === VISIT_STATUS;
}

/** A page in path style has no origin, so browsers send a CORS preflight before its requests. */
function preflight({ method, headers }: IncomingMessage, { style }: PortTarget): PortAnswer | undefined {
  const asked = headers["access-control-request-method"];
  if (style === "host" || method !== "OPTIONS" || headers.origin !== "null" || asked === undefined) return undefined;
  const allowed = ["Access-Control-Allow-Methods", asked, "Access-Control-Max-Age", "600"];
  const names = headers["access-control-request-headers"];
  if (names !== undefined) allowed.push("Access-Control-Allow-Headers", names);
  return { status: 204, headers: allowed, body: "" };
}

/** Counts one exchange, of the port, the sandbox and its owner, until `done` is called. Throws `QUOTA_EXCEEDED`. */
function useConnections(router: Router, target: PortTarget, sandbox: PortSandbox): { connections: PortConnections; done: () => void } {
  const leave = router.shares.take({ sandbox: target.sandbox, owner: sandbox.owner });
  try {
    const connections = connectionsOf(router, target);
    const end = connections.use((signal) => sandbox.dial(target.port, signal));
    const done = (): void => {
      end();
      leave();
    };
    return { connections, done };
  } catch (error) {
    leave();
    throw error;
  }
}

function connectionsOf({ ports }: Router, { sandbox, port }: PortTarget): PortConnections {
  const key = `${sandbox}:${port}`;
  const known = ports.get(key);
  if (known) return known;
  const connections = new PortConnections(() => {
    if (ports.get(key) === connections) ports.delete(key);
    connections.close();
  });
  ports.set(key, connections);
  return connections;
}

function answerWith(response: ServerResponse, { status, headers, body }: PortAnswer, request: IncomingMessage): void {
  const isPath = request.url?.startsWith("/ports") === true;
  const more = isPath ? pathStyleHeaders(request) : [];
  const length = status === 204 ? [] : ["Content-Length", String(Buffer.byteLength(body))];
  response.writeHead(status, [...headers, ...more, ...length]);
  response.end(body);
}

function ignore(): void {}
