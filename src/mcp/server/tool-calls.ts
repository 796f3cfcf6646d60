import type { CallToolRequest, CallToolResult, Server, ServerContext } from "@modelcontextprotocol/server";
import type { CallClient } from "../../catalog/question.ts";
import type { Progress } from "../../catalog/tool.ts";
import type { Round } from "./held-call.ts";
import { HeldCalls } from "./held-calls.ts";
import { createProgress } from "./progress.ts";
import type { ProgressReporter } from "./progress.ts";
import { toProtocolError } from "./protocol-error.ts";
import { assertAskable, capabilitiesOf, isModern, openChannel } from "./request-channel.ts";
import type { ClientChannel } from "./client-channel.ts";
import type { McpConnection } from "./mcp-connection.ts";
import type { McpServerOptions } from "./server-options.ts";
import { toAnswer } from "./tool-answer.ts";
import type { ToolDoorResult } from "./tool-door.ts";

interface Request {
  readonly params: CallToolRequest["params"];
  readonly server: Server;
  readonly context: ServerContext;
}

/** One request of `tools/call`, with what can be told to its client. */
interface OpenRound extends Round {
  readonly channel: ClientChannel;
  readonly progress: ProgressReporter | undefined;
}

export async function callTool(options: McpServerOptions, connection: McpConnection, request: Request): Promise<CallToolResult> {
  const { server, context } = request;
  const channel = openChannel(server, context, connection.id);
  const progress = createProgress(context);
  const signal = context.mcpReq.signal;
  const round: OpenRound = { signal, channel, progress, assertAskable: () => assertAskable(capabilitiesOf(context)) };
  try {
    const result = await call(options, connection, { ...request, round });
    return ("resultType" in result ? result : toAnswer(result)) as CallToolResult;
  } catch (error) {
    throw toProtocolError(error, options.onError);
  } finally {
    progress?.end();
  }
}

function call(options: McpServerOptions, connection: McpConnection, request: RoundRequest): Promise<ToolDoorResult> {
  const { held } = connection;
  return held && isModern(request.server) ? callHeld(options, { ...connection, held }, request) : callPlainly(options, connection, request);
}

type RoundRequest = Request & { readonly round: OpenRound };

function callPlainly(options: McpServerOptions, connection: McpConnection, request: RoundRequest): Promise<ToolDoorResult> {
  const { round } = request;
  return connection.calls.run(round.signal, (signal) =>
    door(options, connection, request, { signal, round: () => round, client: round.channel }),
  );
}

/** The client may be away while the call waits for its answer: what is told then is told to nobody. */
function callHeld(
  options: McpServerOptions,
  connection: McpConnection & { readonly held: HeldCalls<ToolDoorResult> },
  request: RoundRequest,
): Promise<ToolDoorResult> {
  const { round, params } = request;
  const { requestState: state, inputResponses: responses } = round.channel;
  const asked = { principal: connection.caller.principal, name: params.name, args: params.arguments ?? {} };
  if (HeldCalls.isState(state)) return connection.held.resume(asked, round, { state, responses });
  return connection.held.start(asked, round, ({ signal, ask, round: current }) => {
    const now = (): OpenRound | undefined => current() as OpenRound | undefined;
    const client = { ...round.channel, ask, log: (...line: Parameters<ClientChannel["log"]>) => now()?.channel.log(...line) };
    return door(options, connection, request, { signal, client, round: now });
  });
}

interface Running {
  readonly signal: AbortSignal;
  readonly client: ClientChannel & CallClient;
  readonly round: () => OpenRound | undefined;
}

function door(options: McpServerOptions, { caller }: McpConnection, request: RoundRequest, running: Running): Promise<ToolDoorResult> {
  const { name, arguments: args = {} } = request.params;
  const { signal, client, round } = running;
  // Whoever mounts the server has checked it.
  const requestId = request.context.http?.req?.headers.get("x-request-id") ?? undefined;
  return options.tools.call(caller.principal, name, args, {
    client,
    signal,
    ...(requestId !== undefined && { requestId }),
    log: (level, message) => client.log(level, message),
    progress: (told: Progress) => round()?.progress?.report(told),
    ...(caller.defaultName !== undefined && { defaultName: caller.defaultName }),
  });
}
