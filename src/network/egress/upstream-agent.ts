import { Agent, type ClientRequest, type ClientRequestArgs, request as openRequest } from "node:http";
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

/** An http.Agent that connects only through the gate. */
export class UpstreamAgent extends Agent {
  /** Requests without a connection, oldest first. */
  readonly #waiting = new Set<UpstreamRequest>();

  constructor(trust: UpstreamTrust, keepAlive: boolean) {
    super({ keepAlive, maxSockets: 1, maxFreeSockets: 1 });
    this.createConnection = (options, done) => {
      // For a request that waited, Node passes the options of the request whose connection has closed.
      const [next = options as UpstreamRequest] = this.#waiting;
      void connectFor(next, trust, done);
      return undefined;
    };
  }

  open(options: UpstreamRequest): ClientRequest {
    const settle = (): void => void this.#waiting.delete(options);
    this.#waiting.add(options);
    return openRequest({ ...options, agent: this })
      .once("socket", settle)
      .once("close", settle);
  }
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
  if (request.flow.isOver) {
    socket.destroy();
    // Node would replace a closed connection at once, and again.
    throw new TypeError("The request was cut while it connected");
  }
  if (!request.isTls) return socket;
  return connect({
    socket,
    host,
    ...(!isAddress(host) && { servername: host }),
    ALPNProtocols: ["http/1.1"],
    ...(secureContext && { secureContext }),
  });
}
