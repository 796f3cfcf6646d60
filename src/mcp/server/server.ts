import { ProtocolError, ProtocolErrorCode, Server } from "@modelcontextprotocol/server";
import type { CallToolRequest, CallToolResult, ListToolsResult, ServerContext } from "@modelcontextprotocol/server";
import { toProtocolError } from "./protocol-error.ts";
import type { Calls } from "./calls.ts";
import { INSTRUCTIONS } from "./instructions.ts";
import { createProgress } from "./progress.ts";
import type { Caller, ToolDoor } from "./tool-door.ts";

export interface McpServerOptions {
  readonly tools: ToolDoor;
  readonly version: string;
  /** Told of what is our own fault, under the request id that the caller was given. */
  readonly onError: (error: unknown, requestId?: string) => void;
}

/** How long a client may keep a list; its owner decides who sees which tools, so the list is `private`. */
const LIST_TTL_MS = 60_000;

/** One SDK server, for both eras. */
export function createMcpServer(options: McpServerOptions, caller: Caller, calls: Calls): Server {
  const hint = { ttlMs: LIST_TTL_MS, cacheScope: "private" } as const;
  const server = new Server(
    { name: "belljar", title: "Belljar", version: options.version },
    {
      capabilities: { tools: { listChanged: true } },
      instructions: INSTRUCTIONS,
      cacheHints: { "tools/list": hint, "server/discover": hint },
      // Only elicitation would use one; the SDK's default would build Ajv at every start.
      jsonSchemaValidator: { getValidator: refuseValidation },
    },
  );
  server.setRequestHandler("tools/list", () => listTools(options, caller));
  server.setRequestHandler("tools/call", (request, context) =>
    calls.run(context.mcpReq.signal, (signal) => callTool(options, caller, { request, context, signal })),
  );
  return server;
}

/** One SDK server for a connection that stays: its client hears of each change of the list. */
export function createConnectionServer(options: McpServerOptions, caller: Caller, calls: Calls): Server {
  const server = createMcpServer(options, caller, calls);
  // A notification that cannot be sent has no reader any more.
  const stop = options.tools.onChange(() => void server.sendToolListChanged().catch(() => undefined));
  server.onclose = stop;
  return server;
}

function listTools({ tools }: McpServerOptions, { principal }: Caller): ListToolsResult {
  return { tools: tools.list(principal) as ListToolsResult["tools"] };
}

interface Call {
  readonly request: CallToolRequest;
  readonly context: ServerContext;
  readonly signal: AbortSignal;
}

async function callTool(options: McpServerOptions, caller: Caller, call: Call): Promise<CallToolResult> {
  const { name, arguments: args = {} } = call.request.params;
  const progress = createProgress(call.context);
  try {
    const result = await options.tools.call(caller.principal, name, args, {
      signal: call.signal,
      ...(progress && { progress: (message: string) => progress.report(message) }),
      ...(caller.defaultName !== undefined && { defaultName: caller.defaultName }),
    });
    return result as CallToolResult;
  } catch (error) {
    throw toProtocolError(error, options.onError);
  } finally {
    progress?.end();
  }
}

function refuseValidation(): never {
  throw new ProtocolError(ProtocolErrorCode.InternalError, "This server asks for no input");
}
