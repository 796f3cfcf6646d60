import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { BelljarError } from "../errors.ts";
import { formatAnswer } from "../network/http/raw-answer.ts";
import { assertOneHost } from "../network/ports/port-target.ts";
import type { Principal } from "../sandbox/sandbox.ts";
import type { Access } from "./auth/access.ts";
import { assertDeclared, assertGranted } from "./auth/access.ts";
import type { Callers } from "./auth/callers.ts";
import { toErrorAnswer } from "./error-answer.ts";
import type { GatewayLog } from "./gateway-log.ts";
import { assertOwnOrigin } from "./origin-guard.ts";
import { requestIdOf } from "./request-id.ts";

/** One request to switch protocols; the socket is the caller's, who destroys it at the latest when the server closes. */
export interface Upgrade {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  /** What came behind the request already. */
  readonly head: Buffer;
}

/** A path under which a GET may leave HTTP for one protocol. As every route it says what it asks of its caller. */
export interface UpgradeRoute {
  /** With `:name` for what varies, a whole segment. */
  readonly path: string;
  /** The value of `Upgrade`. */
  readonly protocol: string;
  readonly access: Access;
  serve(upgrade: Upgrade, named: { readonly caller: Principal; readonly params: Readonly<Record<string, string>> }): Promise<void>;
}

export interface UpgradeOptions {
  readonly routes: readonly UpgradeRoute[];
  /** The configured host, whose name requests may carry. */
  readonly host: string;
  readonly callers: Callers;
  readonly log: GatewayLog;
}

/** Throws for a route that does not say what it asks of its caller. */
export function assertUpgradesDeclared(routes: readonly UpgradeRoute[]): void {
  for (const { path, access } of routes) assertDeclared(access, `GET ${path}`);
}

/** The same steps as for every request: whose page, who, which route, which scopes. Answers what is refused. */
export function serveUpgrade(options: UpgradeOptions, upgrade: Upgrade): void {
  admitUpgrade(options, upgrade).catch((error: unknown) => refuse(upgrade, error, options.log));
}

async function admitUpgrade({ routes, host, callers }: UpgradeOptions, upgrade: Upgrade): Promise<void> {
  const { request } = upgrade;
  assertOneHost(request.rawHeaders);
  assertOwnOrigin(request.headers, host);
  const caller = await callers.admit(request);
  const { route, params } = findRoute(routes, request);
  assertGranted(caller, route.access, `GET ${route.path}`);
  await route.serve(upgrade, { caller, params });
}

function findRoute(routes: readonly UpgradeRoute[], { method, url = "", headers }: IncomingMessage) {
  const found = routes.flatMap((route) => {
    const params = matchPath(route.path, url);
    return params && method === "GET" ? [{ route, params }] : [];
  });
  if (!found[0]) throw new BelljarError("ROUTE_NOT_FOUND", "Nothing can be upgraded at this path");
  const match = found.find(({ route }) => headers.upgrade?.toLowerCase() === route.protocol);
  if (match) return match;
  throw new BelljarError("ARGUMENTS_INVALID", `Only an upgrade to ${found[0].route.protocol} is served here`);
}

/** The values of the path's names, as they stand in the URL; undefined when it is another path. */
function matchPath(path: string, url: string): Readonly<Record<string, string>> | undefined {
  const [wanted, given] = [path.split("/"), url.split("/")];
  if (wanted.length !== given.length || !wanted.every((part, at) => part.startsWith(":") || part === given[at])) return undefined;
  return Object.fromEntries(wanted.flatMap((part, at) => (part.startsWith(":") ? [[part.slice(1), given[at] ?? ""]] : [])));
}

function refuse({ request, socket }: Upgrade, error: unknown, log: GatewayLog): void {
  const { status, answer } = toErrorAnswer(error, requestIdOf(request), log);
  if (socket.destroyed) return;
  socket.end(formatAnswer({ status, headers: ["Content-Type", "application/json"] }, JSON.stringify(answer)));
}
