import { type IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { answerRefusal } from "./answer-refusal.ts";
import { toReason } from "./dial.ts";
import { unreachable } from "./gate.ts";
import { admitRequest, hasBody } from "./admit-request.ts";
import { forwardRequest, openUpstream } from "./http-forward.ts";
import { withoutHopByHop } from "./http-headers.ts";
import { formatSwitch } from "../http/raw-answer.ts";
import { badRequest } from "./http-target.ts";
import type { HttpVisit } from "./http-visit.ts";
import { joinStreams } from "./join-streams.ts";
import { Refusal } from "./refusal.ts";
import { relayAnswer } from "./relay-answer.ts";
import type { Flow } from "./flow.ts";
import type { ResponseMask } from "../secrets/secret-guard.ts";

/** Forwards a request to upgrade its connection, for a WebSocket. Other upgrades are forwarded as ordinary requests. */
export function forwardUpgrade(visit: HttpVisit, request: IncomingMessage, socket: Duplex): void {
  const response = new ServerResponse(request);
  // The type demands a net.Socket, but any duplex stream works.
  response.assignSocket(socket as Parameters<typeof response.assignSocket>[0]);
  response.shouldKeepAlive = false;
  response.once("finish", () => socket.end());
  socket.on("error", () => socket.destroy());
  if (hasBody(request)) return answerRefusal(response, badRequest("A request that upgrades its connection has no body."));
  if (request.headers.upgrade?.toLowerCase() !== "websocket") return forwardRequest(visit, request, response);
  return void upgrade(visit, { request, response, socket }).catch((error: unknown) => {
    visit.gate.fault(error);
    socket.destroy();
  });
}

interface Upgrade {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly socket: Duplex;
}

async function upgrade(visit: HttpVisit, { request, response, socket }: Upgrade): Promise<void> {
  const { flow, outgoing } = await admitRequest(visit, request);
  if (socket.destroyed) return flow.end();
  visit.began({ expire: () => flow.stop(unreachable("timed-out", flow.place)) });
  flow.cut = (refusal) => (response.headersSent ? socket.destroy() : answerRefusal(response, refusal));
  if (outgoing instanceof Refusal) return flow.stop(outgoing);
  const headers = { ...outgoing.headers, connection: "upgrade", upgrade: "websocket" };
  const upstream = openUpstream(visit, request, { flow, outgoing: { ...outgoing, headers } });
  socket.once("close", () => {
    upstream.destroy();
    flow.end();
  });
  upstream.on("error", (error) => flow.stop(unreachable(toReason(error), flow.place)));
  const relayed = { response, flow, mask: outgoing.filled?.mask, touch: () => visit.touch() };
  upstream.once("response", (incoming) => relayAnswer(incoming, relayed));
  upstream.once("upgrade", (incoming, other, head) => {
    if (incoming.headers.upgrade?.toLowerCase() !== "websocket") {
      other.destroy();
      return flow.stop(unreachable("bad-response", flow.place));
    }
    visit.leave();
    const mask = outgoing.filled?.mask;
    socket.write(switchingHead(incoming, mask));
    if (head.length > 0) other.unshift(head);
    join(visit, flow, { socket, other, mask });
  });
  upstream.end();
}

function join(
  visit: HttpVisit,
  flow: Flow,
  { socket, other, mask }: { socket: Duplex; other: Duplex; mask: ResponseMask | undefined },
): void {
  flow.cut = () => {
    socket.destroy();
    other.destroy();
  };
  joinStreams(flow, { inside: socket, outside: other, idleMs: visit.gate.limits.idleMs, ...(mask && { toInside: mask.upgraded() }) });
}

function switchingHead(incoming: IncomingMessage, mask: ResponseMask | undefined): string {
  const kept = withoutHopByHop(incoming.headers);
  const headers = Object.entries(mask ? mask.headers(kept) : kept);
  return formatSwitch(
    "websocket",
    headers.flatMap(([name, value]) => [value ?? []].flat().flatMap((text) => [name, String(text)])),
  );
}
