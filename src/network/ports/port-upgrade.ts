import type { ClientRequest, IncomingMessage } from "node:http";
import { request as requestHttp } from "node:http";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream";
import { BelljarError } from "../../errors.ts";
import { carryBoth } from "../http/carry.ts";
import { endSoon } from "../http/end-soon.ts";
import { formatAnswer, formatHead, formatSwitch } from "../http/raw-answer.ts";
import type { PortAnswer } from "./port-answer.ts";
import { toInnerHeaders, toOuterHeaders } from "./port-headers.ts";
import type { PortConnections } from "./port-pool.ts";
import { toPortError } from "./port-relay.ts";
import type { PortTarget } from "./port-target.ts";
import { watchClient } from "./watch-client.ts";

export interface PortUpgrade {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  /** Bytes that came directly after the request. */
  readonly head: Buffer;
  readonly target: PortTarget;
}

/**
 * Relays an upgrade (WebSocket or any other). When the program inside switches protocols, joins both connections: an end is passed on, and
 * an error or a close ends both. Resolves when both have ended. Rejects if there is no answer to relay.
 */
export async function relayUpgrade(connections: PortConnections, upgrade: PortUpgrade): Promise<void> {
  const { request, socket, head, target } = upgrade;
  assertNoBody(request);
  const asked = requestHttp({
    method: request.method,
    path: target.path,
    headers: [...toInnerHeaders(request, target), "Connection", "Upgrade", "Upgrade", request.headers.upgrade ?? ""],
    createConnection: connections.connect,
  });
  const client = watchClient(socket);
  client.gone.addEventListener("abort", () => void asked.destroy());
  asked.end();
  try {
    const { answer, stream } = await answered(asked).finally(() => client.stop());
    socket.write(answerHead(answer, upgrade, stream !== undefined));
    if (stream) await join({ socket, head }, stream);
    else await pass(answer, socket);
  } finally {
    asked.destroy();
  }
}

/** Writes an answer of the router to a connection that Node's HTTP server has released, and closes the connection. */
export function writeAnswer(socket: Duplex, { status, headers, body }: PortAnswer): void {
  endSoon(socket, formatAnswer({ status, headers }, body));
}

/** Refuses a body, because it could hide a second request. */
function assertNoBody({ method, headers }: IncomingMessage): void {
  if (method === "GET" && headers["content-length"] === undefined && headers["transfer-encoding"] === undefined) return;
  throw new BelljarError("ARGUMENTS_INVALID", "An upgrade is a GET without a body");
}

interface Answer {
  readonly answer: IncomingMessage;
  /** Set if the program inside has switched protocols. */
  readonly stream?: Duplex;
}

function answered(asked: ClientRequest): Promise<Answer> {
  return new Promise((resolve, reject) => {
    asked.once("response", (answer) => resolve({ answer }));
    asked.once("upgrade", (answer, stream, head: Buffer) => {
      if (head.length > 0) stream.unshift(head);
      resolve({ answer, stream });
    });
    asked.on("error", (error) => reject(toPortError(error)));
    asked.once("close", () => reject(toPortError(new Error("closed"))));
  });
}

/** If the program did not switch, the answer ends with the connection. */
function answerHead(answer: IncomingMessage, { request, target }: PortUpgrade, isSwitched: boolean): string {
  const headers = toOuterHeaders(answer, request, target);
  if (isSwitched) return formatSwitch(answer.headers.upgrade ?? request.headers.upgrade ?? "", headers);
  return formatHead({ status: answer.statusCode ?? 502, headers: ["Connection", "close", ...headers] });
}

async function join({ socket, head }: Pick<PortUpgrade, "socket" | "head">, stream: Duplex): Promise<void> {
  if (head.length > 0) socket.unshift(head);
  await carryBoth(socket, stream);
}

function pass(answer: IncomingMessage, socket: Duplex): Promise<void> {
  return new Promise((resolve) => {
    pipeline(answer, socket, () => {
      endSoon(socket);
      resolve();
    });
  });
}
