import { Agent, type ClientRequestArgs } from "node:http";
import type { Duplex } from "node:stream";
import { connect, type SecureContext } from "node:tls";
import { isAddress } from "../host-name.ts";
import { Refusal } from "./refusal.ts";
import type { Gate } from "./gate.ts";
import type { Flow } from "./flow.ts";

export interface UpstreamTrust {
  /** Undefined: the default trust of Node. */
  readonly secureContext?: SecureContext;
}

/** A request with the data for its connection. */
export interface UpstreamRequest extends ClientRequestArgs {
  readonly gate: Gate;
  readonly flow: Flow;
  readonly isTls: boolean;
  /** Called before the request fails because it could not connect. */
  readonly onRefused: (refusal: Refusal) => void;
}

/** Creates an http.Agent that connects only through the gate. */
export function createUpstreamAgent(trust: UpstreamTrust, keepAlive: boolean): Agent {
  const agent = new Agent({ keepAlive, maxSockets: 1, maxFreeSockets: 1 });
  agent.createConnection = (options, done) => {
    void connectFor(options as UpstreamRequest, trust, done);
    return undefined;
  };
  return agent;
}

async function connectFor(request: UpstreamRequest, trust: UpstreamTrust, done: Parameters<Agent["createConnection"]>[1]): Promise<void> {
  try {
    done?.(null, await open(request, trust));
  } catch (error) {
    // Node's type demands a stream even with an error.
    done?.(error as Error, undefined as unknown as Duplex);
  }
}

async function open(request: UpstreamRequest, { secureContext }: UpstreamTrust): Promise<Duplex> {
  const socket = await request.gate.dial(request.flow);
  if (socket instanceof Refusal) {
    request.onRefused(socket);
    throw new TypeError(socket.text);
  }
  const { host } = request.flow.place;
  if (request.flow.isOver) socket.destroy();
  if (!request.isTls) return socket;
  return connect({
    socket,
    host,
    ...(!isAddress(host) && { servername: host }),
    ALPNProtocols: ["http/1.1"],
    ...(secureContext && { secureContext }),
  });
}
