import { Agent, type AgentOptions, type ClientRequest, type OutgoingHttpHeaders, request as openRequest } from "node:http";
import type { Duplex } from "node:stream";
import { connect } from "node:tls";
import type { BelljarError } from "../../errors.ts";
import { isAddress, toAuthority } from "../host-name.ts";
import { type ClientGateOptions, openClientGate, placeOf, trustOf } from "./client-gate.ts";
import { toReason } from "./dial.ts";
import type { Flow } from "./flow.ts";
import { type Gate, unreachable } from "./gate.ts";
import { forScheme, judgeRequest } from "./policy-table.ts";
import { type Place, Refusal } from "./refusal.ts";
import type { UpstreamTrust } from "./upstream-agent.ts";

export interface EgressRequestsOptions extends ClientGateOptions {
  /** The error of a request that was refused, or whose place cannot be reached. */
  readonly toError: (refusal: Refusal, place: Place) => BelljarError;
  /** A connection without a request is kept for so long. Default: none is kept. */
  readonly keepMs?: number;
}

export interface RequestStart {
  readonly method: string;
  readonly headers: OutgoingHttpHeaders;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Requests of Belljar itself as Node makes them, each judged by the policy. A connection goes to an address that was judged: a name is not
 * resolved once more. Disposing it ends them.
 */
export interface EgressRequests extends Disposable {
  /** Begins a request, which follows no redirect. Throws, or has the request fail, with the error that `toError` gives. */
  open(url: URL, start: RequestStart): ClientRequest;
}

export function createEgressRequests(options: EgressRequestsOptions): EgressRequests {
  const { toError, keepMs } = options;
  const gate = openClientGate(options);
  const trust = trustOf(options);
  const kept: AgentOptions = keepMs === undefined ? {} : { keepAlive: true, timeout: keepMs };
  const open = new Set<() => void>();
  const parts = { gate, toError, open };
  const agents = { http: new GateAgent(kept, parts), https: new GateAgent(kept, { ...parts, trust }) };
  return {
    open(url, { method, headers, signal }) {
      const place = placeOf(url);
      const scheme = url.protocol === "https:" ? "https" : "http";
      const line = { method, path: `${url.pathname}${url.search}` };
      const judged = judgeRequest(forScheme(gate.find(place), scheme), line);
      if (judged === undefined || judged instanceof Refusal) {
        const refusal = judged ?? gate.noRule(place);
        gate.refuse({ via: "http", place }, refusal);
        throw toError(refusal, place);
      }
      const { rule } = judged.allowance;
      const sent = { ...place, method, signal, path: judged.path, agent: agents[scheme], setHost: false, place, rule };
      return openRequest({ ...sent, headers: { ...headers, host: url.host } });
    },
    [Symbol.dispose]() {
      for (const end of open) end();
      agents.http.destroy();
      agents.https.destroy();
      gate.close();
    },
  };
}

interface GateAgentParts {
  readonly gate: Gate;
  readonly toError: EgressRequestsOptions["toError"];
  /** Each ends the flow of an open connection, with the bytes of so far. */
  readonly open: Set<() => void>;
  /** Absent: it speaks no TLS. */
  readonly trust?: UpstreamTrust;
}

/** What a request hands to its connection. */
interface Wanted {
  readonly place: Place;
  readonly rule: string;
}

/** Connects only through the gate. Each connection is one flow. */
class GateAgent extends Agent {
  constructor(kept: AgentOptions, parts: GateAgentParts) {
    super(kept);
    this.createConnection = (options, done) => {
      void connectFor(options as unknown as Wanted, parts, done);
      return undefined;
    };
  }
}

async function connectFor(wanted: Wanted, parts: GateAgentParts, done: Parameters<Agent["createConnection"]>[1]): Promise<void> {
  try {
    done?.(null, await openConnection(wanted, parts));
  } catch (error) {
    // Node's type demands a stream even with an error.
    done?.(error as Error, undefined as unknown as Duplex);
  }
}

async function openConnection({ place, rule }: Wanted, { gate, toError, trust, open }: GateAgentParts): Promise<Duplex> {
  const flow = gate.start({ via: "http", place });
  flow.rule = rule;
  const socket = await gate.dial(flow);
  const refuse = (refusal: Refusal): BelljarError => {
    flow.end(refusal);
    return toError(refusal, place);
  };
  if (socket instanceof Refusal) throw refuse(socket);
  flow.cut = () => socket.destroy();
  const end = (): void => {
    open.delete(end);
    if (flow.isOver) return;
    flow.sent(socket.bytesWritten);
    flow.received(socket.bytesRead);
    flow.end();
  };
  open.add(end);
  socket.once("close", end);
  if (flow.isOver) {
    socket.destroy();
    throw refuse(new Refusal("reset", `${toAuthority(place.host, place.port)} was left while it connected.`));
  }
  return trust ? secure(socket, flow, trust) : socket;
}

function secure(socket: Duplex, flow: Flow, { secureContext }: UpstreamTrust): Duplex {
  const { host } = flow.place;
  const name = isAddress(host) ? {} : { servername: host };
  const secured = connect({ socket, host, ...name, ALPNProtocols: ["http/1.1"], ...(secureContext && { secureContext }) });
  secured.once("error", (error: NodeJS.ErrnoException) => flow.end(unreachable(toReason(error), flow.place)));
  return secured;
}
