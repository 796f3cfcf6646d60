import type { IncomingMessage, Server } from "node:http";
import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream";
import { BelljarError } from "../../errors.ts";
import type { Principal, Sandboxes } from "../../sandbox/sandbox.ts";
import { requestIdOf, toErrorAnswer } from "../error-answer.ts";
import type { GatewayLog } from "../gateway-log.ts";
import { GUEST_PROTOCOL } from "../guest-upgrade.ts";
import { assertOwnOrigin } from "../origin-guard.ts";
import { parseRequest } from "../parse-request.ts";
import { idParams } from "./sandbox-schemas.ts";

export interface GuestUpgradeOptions {
  readonly sandboxes: Sandboxes;
  /** The configured host, whose name requests may carry. */
  readonly host: string;
  readonly principal: () => Principal;
  readonly log: GatewayLog;
}

const PATH = /^\/v1\/sandboxes\/([^/?]+)\/guest$/;

/**
 * `GET /v1/sandboxes/:id/guest` with `Upgrade: belljar-guest` becomes one raw stream of the guest protocol, with back-pressure
 * both ways. It closes with either side.
 */
export function serveGuestUpgrades(server: Server, options: GuestUpgradeOptions): { close(): void } {
  const sockets = new Set<Duplex>();
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    // Whatever breaks the socket also closes it, and both ends of the pipeline with it.
    socket.on("error", () => socket.destroy());
    joinGuest(options, { request, socket, head }).catch((error: unknown) => refuse(socket, error, options.log));
  });
  return {
    close() {
      for (const socket of sockets) socket.destroy();
    },
  };
}

interface Upgrade {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

async function joinGuest(options: GuestUpgradeOptions, { request, socket, head }: Upgrade): Promise<void> {
  assertOwnOrigin(request.headers, options.host);
  const id = sandboxIdOf(request);
  const client = watchClient(socket);
  const sandbox = await options.sandboxes.get(options.principal(), id);
  const guest = await sandbox.connect(client.gone);
  client.stop();
  if (client.gone.aborted) return void guest.destroy();
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${GUEST_PROTOCOL}\r\n\r\n`);
  if (head.length > 0) socket.unshift(head);
  join(socket, guest);
}

/** Nothing else reads the socket yet, so its end is only seen when this reads it, without taking what came. */
function watchClient(socket: Duplex): { readonly gone: AbortSignal; stop(): void } {
  const controller = new AbortController();
  const look = (): void => void socket.read(0);
  const abort = (): void => controller.abort();
  socket.on("readable", look);
  socket.once("end", abort).once("close", abort);
  look();
  return {
    gone: controller.signal,
    stop: () => void socket.off("readable", look).off("end", abort).off("close", abort),
  };
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

function refuse(socket: Duplex, error: unknown, log: GatewayLog): void {
  const { status, answer } = toErrorAnswer(error, requestIdOf(), log);
  if (socket.destroyed) return;
  const body = JSON.stringify(answer);
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "Error"}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n`;
  socket.end(head + body);
}
