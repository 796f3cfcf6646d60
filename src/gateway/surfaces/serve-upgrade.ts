import type { IncomingMessage } from "node:http";
import { BelljarError } from "../../errors.ts";
import { endSoon } from "../../network/http/end-soon.ts";
import { formatAnswer } from "../../network/http/raw-answer.ts";
import { assertOneHost } from "../../network/ports/port-target.ts";
import type { Principal } from "../../sandbox/sandbox.ts";
import type { RequestAudit } from "../audit-requests.ts";
import { sandboxOf } from "../audit-requests.ts";
import { assertGranted } from "../auth/access.ts";
import type { Challenge } from "../auth/admit.ts";
import { challengeHeaders } from "../auth/admit.ts";
import type { Callers } from "../auth/callers.ts";
import { toFailure, toldAs, NO_SNIFFING } from "../error-answer.ts";
import type { GatewayLog } from "../gateway-log.ts";
import type { Upgrade, UpgradeRoute } from "../routes/upgrade-route.ts";
import { assertOwnHost, assertOwnPage } from "./origin-guard.ts";
import { REQUEST_ID_HEADER, requestIdOf } from "../request-id.ts";
import type { RoutedSurface } from "./surface.ts";

/** Of one surface. */
export interface UpgradeOptions {
  readonly surface: Pick<RoutedSurface, "reach" | "cors" | "shapeError" | "statusOf">;
  readonly routes: readonly UpgradeRoute[];
  /** The configured host, whose name requests may carry. */
  readonly host: string;
  readonly callers: Callers;
  readonly challenge: Challenge | undefined;
  readonly audit: RequestAudit | undefined;
  readonly log: GatewayLog;
}

/**
 * The same steps as for every request: whose page, who, which route, which scopes, and a line of the audit where something may change.
 * Answers a refusal, and closes its connection.
 */
export function serveUpgrade(options: UpgradeOptions, upgrade: Upgrade): void {
  const attempt: Attempt = { headers: {} };
  serve(options, upgrade, attempt).then(
    () => record(options, upgrade, { ...attempt, outcome: "ok" }),
    (error: unknown) => refuse(options, upgrade, { ...attempt, error }),
  );
}

/** What becomes known of an upgrade on its way. */
interface Attempt {
  /** Of the answer, if its caller is refused. */
  headers: Readonly<Record<string, string>>;
  admitted?: Admitted;
  /** The id of the sandbox that it leads to. */
  sandbox?: string;
}

interface Admitted {
  readonly caller: Principal;
  readonly route: UpgradeRoute;
  readonly params: Readonly<Record<string, string>>;
}

async function serve(options: UpgradeOptions, upgrade: Upgrade, attempt: Attempt): Promise<void> {
  const { surface, host, challenge, audit } = options;
  const { request } = upgrade;
  assertOneHost(request.rawHeaders);
  assertOwnHost(request, host, surface.reach);
  if (surface.cors === "none") assertOwnPage(request.headers);
  const { route, caller, params } = await admitCaller(options, upgrade, attempt).catch((error: unknown) => {
    attempt.headers = challengeHeaders(error, request.headers, challenge);
    throw error;
  });
  if (isAudited(route)) audit?.assertWritable();
  await route.serve(upgrade, { caller, params, reached: (sandboxId) => (attempt.sandbox = sandboxId) });
}

async function admitCaller({ callers, routes }: UpgradeOptions, { request, socket }: Upgrade, attempt: Attempt): Promise<Admitted> {
  const caller = await callers.admit(request, socket);
  const admitted = { caller, ...findRoute(routes, request) };
  attempt.admitted = admitted;
  assertGranted(caller, admitted.route.access, `GET ${admitted.route.path}`);
  return admitted;
}

function isAudited({ access }: UpgradeRoute): boolean {
  return access.kind === "scoped" && access.changes;
}

function record(
  { audit }: UpgradeOptions,
  { request }: Upgrade,
  { admitted, sandbox, outcome }: Attempt & { readonly outcome: string },
): void {
  if (!admitted || !isAudited(admitted.route)) return;
  const { caller, route, params } = admitted;
  const line = { requestId: requestIdOf(request), principal: caller.id, request: `GET ${route.path}`, outcome };
  audit?.recordRequest({ ...line, ...sandboxOf(sandbox, params) });
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

function refuse(options: UpgradeOptions, upgrade: Upgrade, { error, ...attempt }: Attempt & { readonly error: unknown }): void {
  const { surface, log } = options;
  const { request, socket } = upgrade;
  const requestId = requestIdOf(request);
  const { failure, headers: more } = toFailure(error, requestId, log);
  const { status, body } = toldAs(surface, failure, request);
  record(options, upgrade, { ...attempt, outcome: String(status) });
  if (socket.destroyed) return;
  const headers = {
    "content-type": "application/json",
    [NO_SNIFFING.name]: NO_SNIFFING.value,
    [REQUEST_ID_HEADER]: requestId,
    ...attempt.headers,
    ...more,
  };
  endSoon(socket, formatAnswer({ status, headers: Object.entries(headers).flat() }, JSON.stringify(body)));
}
