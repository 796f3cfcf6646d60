import type { IncomingMessage } from "node:http";
import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream";
import { BelljarError } from "../../errors.ts";
import { watchClient } from "../../network/ports/watch-client.ts";
import type { Sandboxes } from "../../sandbox/sandbox.ts";
import type { RequestAudit } from "../audit-requests.ts";
import { assertRouteGranted } from "../auth/assert-route-granted.ts";
import type { Callers } from "../auth/callers.ts";
import { toErrorAnswer } from "../error-answer.ts";
import type { GatewayLog } from "../gateway-log.ts";
import { GUEST_PROTOCOL } from "../guest-upgrade.ts";
import { assertOwnOrigin } from "../origin-guard.ts";
import { parseRequest } from "../parse-request.ts";
import { requestIdOf } from "../request-id.ts";
import { idParams } from "./sandbox-schemas.ts";

export interface GuestUpgradeOptions {
  readonly sandboxes: Sandboxes;
  /** The configured host, whose name requests may carry. */
  readonly host: string;
  readonly callers: Callers;
  readonly audit?: RequestAudit;
  readonly log: GatewayLog;
}

const GUEST_ROUTE = "GET /v1/sandboxes/:id/guest";

const PATH = /^\/v1\/sandboxes\/([^/?]+)\/guest$/;

/** One request to switch protocols; the socket is the caller's, who destroys it at the latest when the server closes. */
export interface Upgrade {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  /** What came behind the request already. */
  readonly head: Buffer;
}

/**
 * `GET /v1/sandboxes/:id/guest` with `Upgrade: belljar-guest` becomes one raw stream of the guest protocol, with back-pressure
 * both ways. It closes with either side.
 */
export function serveGuestUpgrade(options: GuestUpgradeOptions, upgrade: Upgrade): void {
  joinGuest(options, upgrade).catch((error: unknown) => refuse(upgrade, error, options.log));
}

async function joinGuest(options: GuestUpgradeOptions, { request, socket, head }: Upgrade): Promise<void> {
  assertOwnOrigin(request.headers, options.host);
  const id = sandboxIdOf(request);
  const client = watchClient(socket);
  const caller = await options.callers.admit(request);
  assertRouteGranted(caller, "POST", "/v1/sandboxes/:id/guest");
  const sandbox = await options.sandboxes.get(caller, id);
  options.audit?.assertWritable();
  const guest = await sandbox.connect(client.gone);
  options.audit?.recordRequest({
    requestId: requestIdOf(request),
    principal: caller.id,
    request: GUEST_ROUTE,
    outcome: "ok",
    sandbox: sandbox.id,
  });
  client.stop();
  if (client.gone.aborted) return void guest.destroy();
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${GUEST_PROTOCOL}\r\n\r\n`);
  if (head.length > 0) socket.unshift(head);
  join(socket, guest);
}

function sandboxIdOf(request: IncomingMessage): string {
  const path = PATH.exec(request.url ?? "");
  if (request.method !== "GET" || !path) throw new BelljarError("ROUTE_NOT_FOUND", "Nothing can be upgraded at this path");
  if (request.headers.upgrade?.toLowerCase() !== GUEST_PROTOCOL) {
    throw new BelljarError("ARGUMENTS_INVALID", `Only an upgrade to ${GUEST_PROTOCOL} is served here`);
  }
  return parseRequest(idParams, { id: path[1] }).id;
}

/** An end passes on as an end, so what is under way arrives; an error or a close ends both at once. */
function join(socket: Duplex, guest: Duplex): void {
  pipeline(socket, guest, (error) => {
    if (error) socket.destroy();
  });
  pipeline(guest, socket, () => {
    guest.destroy();
  });
}

function refuse({ request, socket }: Upgrade, error: unknown, log: GatewayLog): void {
  const { status, answer } = toErrorAnswer(error, requestIdOf(request), log);
  if (socket.destroyed) return;
  const body = JSON.stringify(answer);
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "Error"}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n`;
  socket.end(head + body);
}
