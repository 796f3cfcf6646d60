import type { Server, ServerContext } from "@modelcontextprotocol/server";
import type { Progress } from "../../catalog/tool.ts";
import type { Principal } from "../../sandbox/sandbox.ts";
import type { Asker } from "./asker.ts";
import type { ClientChannel, InputRequired } from "./client-channel.ts";
import { askBy, assertAskable } from "./client-requests.ts";
import type { Round } from "./held-call.ts";
import { type AskedCall, HeldCalls } from "./held-calls.ts";
import type { McpConnection } from "./mcp-connection.ts";
import { createProgress, type ProgressReporter } from "./progress.ts";
import { capabilitiesOf, isModern, openChannel } from "./request-channel.ts";

/** What a request asks for, and with what. */
export interface Asked extends Omit<AskedCall, "principal"> {
  readonly server: Server;
  readonly context: ServerContext;
}

/** What the work of a request may tell and ask. */
export interface Running {
  readonly signal: AbortSignal;
  readonly client: ClientChannel;
  /** Reaches a client that asked for it, while it waits. */
  readonly progress: (progress: Progress) => void;
}

export function toAsker(principal: Principal, { client, signal, progress }: Running): Asker {
  const log: Asker["log"] = (level, data, logger) => client.log(level, data, logger);
  return { principal, ...clientOf(client), signal, progress, log };
}

export function clientOf(client: ClientChannel): Pick<Asker, "client" | "clientId"> {
  return { client, ...(client.id !== undefined && { clientId: client.id }) };
}

type Work<Result> = (running: Running) => Promise<Result>;

/** One request, with what can be told to its client. */
interface OpenRound extends Round {
  readonly channel: ClientChannel;
  readonly progress: ProgressReporter | undefined;
}

/**
 * Does the work of a request whose client may be asked for something meanwhile: by a request of the server, or, as of 2026-07-28, by an answer
 * with which the client calls again. The work runs once. Its signal aborts when the client gives up.
 */
export async function runRounds<Result>(connection: McpConnection, asked: Asked, work: Work<Result>): Promise<Result | InputRequired> {
  const { server, context } = asked;
  const channel = openChannel(server, context, connection.id);
  const progress = createProgress(context);
  const askable: Round["assertAskable"] = (requests) => assertAskable(capabilitiesOf(context), requests);
  const round: OpenRound = { signal: context.mcpReq.signal, channel, progress, assertAskable: askable };
  const { held } = connection;
  try {
    return await (held && isModern(server) ? runHeld({ ...connection, held }, asked, round, work) : runPlainly(connection, round, work));
  } finally {
    progress?.end();
  }
}

function runPlainly<Result>({ calls }: McpConnection, { signal, channel, progress }: OpenRound, work: Work<Result>): Promise<Result> {
  return calls.run(signal, (running) => work({ signal: running, client: channel, progress: (told) => progress?.report(told) }));
}

/** The client may be away while the work waits for its answer: what is told then is told to nobody. */
function runHeld<Result>(
  { held, caller }: McpConnection & { readonly held: HeldCalls<unknown> },
  { method, name, args }: Asked,
  round: OpenRound,
  work: Work<Result>,
): Promise<Result | InputRequired> {
  const { requestState: state, inputResponses: responses } = round.channel;
  const asked: AskedCall = { principal: caller.principal, method, name, args };
  // What goes on was asked for by the same request, and so has the same kind of result.
  if (HeldCalls.isState(state)) return held.resume(asked, round, { state, responses }) as Promise<Result | InputRequired>;
  return held.start(asked, round, ({ signal, relay, round: current }) => {
    const now = (): OpenRound | undefined => current() as OpenRound | undefined;
    const log: ClientChannel["log"] = (...line) => now()?.channel.log(...line);
    const client: ClientChannel = { ...round.channel, relay, ask: askBy(relay), log };
    return work({ signal, client, progress: (told) => now()?.progress?.report(told) });
  }) as Promise<Result | InputRequired>;
}
