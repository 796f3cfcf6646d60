import { ProtocolError } from "@modelcontextprotocol/server";
import type { CallToolRequest, CallToolResult, Server, ServerContext } from "@modelcontextprotocol/server";
import type { McpConnection } from "./mcp-connection.ts";
import { toProtocolError } from "./protocol-error.ts";
import { isModern } from "./request-channel.ts";
import { type Running, runRounds } from "./rounds.ts";
import type { McpServerOptions } from "./server-options.ts";
import { toMcpAnswer } from "./tool-answer.ts";
import type { ToolDoorResult } from "./tool-door.ts";

interface Request {
  readonly params: CallToolRequest["params"];
  readonly server: Server;
  readonly context: ServerContext;
}

export async function callTool(options: McpServerOptions, connection: McpConnection, request: Request): Promise<CallToolResult> {
  const { name, arguments: args = {} } = request.params;
  try {
    const asked = { ...request, method: "tools/call", name, args };
    const result = await runRounds(connection, asked, (running) => door(options, connection, request, running));
    if ("resultType" in result) return result as unknown as CallToolResult;
    if (result.refusal) throw new ProtocolError(result.refusal.code, result.refusal.message, result.refusal.data);
    return toMcpAnswer(result, isModern(request.server)) as CallToolResult;
  } catch (error) {
    throw toProtocolError(error, options.onError);
  }
}

function door(
  options: McpServerOptions,
  { caller }: McpConnection,
  request: Request,
  { signal, client, progress }: Running,
): Promise<ToolDoorResult> {
  const { name, arguments: args = {} } = request.params;
  // Whoever mounts the server has checked it.
  const requestId = request.context.http?.req?.headers.get("x-request-id") ?? undefined;
  return options.tools.call(caller.principal, name, args, {
    client,
    signal,
    progress,
    ...(requestId !== undefined && { requestId }),
    log: (level, data, logger) => client.log(level, data, logger),
    ...(caller.defaultName !== undefined && { defaultName: caller.defaultName }),
  });
}
