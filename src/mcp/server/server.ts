import { randomUUID } from "node:crypto";
import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import type { ListToolsResult, Server, ServerContext } from "@modelcontextprotocol/server";
import { toProtocolError } from "./protocol-error.ts";
import { serveCompletions } from "./completions.ts";
import { instructionsFor } from "./instructions.ts";
import { servePrompts } from "./prompts.ts";
import { announceResources, endSubscriptions, serveResources } from "./resources.ts";
import type { McpServerOptions } from "./server-options.ts";
import type { McpConnection } from "./mcp-connection.ts";
import { PassingServer } from "./passing-server.ts";
import { callTool } from "./tool-calls.ts";
import { concerns } from "../../catalog/caller.ts";

/** How long a client may keep a list; its owner decides who sees which tools, so the list is `private`. */
const LIST_TTL_MS = 60_000;

/** One SDK server, for both eras. */
export function createMcpServer(options: McpServerOptions, exchange: McpConnection): Server {
  const server = new PassingServer(
    { name: "belljar", title: "Belljar", version: options.version },
    {
      capabilities: {
        tools: { listChanged: true },
        logging: {},
        ...(options.resources && { resources: { subscribe: true, listChanged: true } }),
        ...(options.prompts && { prompts: { listChanged: true } }),
        ...((options.resources ?? options.prompts) && { completions: {} }),
      },
      instructions: instructionsFor(options.introduce?.(exchange.caller) ?? [], options.isMachine),
      cacheHints: cacheHints(),
      // Only the SDK's own elicitation would use one, and its default would build Ajv at every start: answers are checked at the door.
      jsonSchemaValidator: { getValidator: refuseValidation },
    },
  );
  const { method } = exchange;
  const serves = (family: string): boolean => method === undefined || method.startsWith(family);
  if (serves("tools/")) serveTools(server, options, exchange);
  if (serves("resources/")) serveResources(server, options, exchange);
  if (serves("prompts/")) servePrompts(server, options, exchange);
  if (serves("completion/")) serveCompletions(server, options, exchange);
  return server;
}

function serveTools(server: Server, options: McpServerOptions, exchange: McpConnection): void {
  server.setRequestHandler("tools/list", ({ params }, context) => listTools(options, exchange, { cursor: params?.cursor, context }));
  server.setRequestHandler("tools/call", ({ params }, context) => callTool(options, exchange, { params, server, context }));
}

/** One SDK server for a connection that stays: its client hears of each change. */
export function createConnectionServer(options: McpServerOptions, exchange: McpConnection): Server {
  const server = createMcpServer(options, { id: randomUUID(), ...exchange });
  const { principal } = exchange.caller;
  const connected = options.connected?.(exchange.caller);
  // A notification that cannot be sent has no reader any more.
  const stops = [
    options.tools.onChange((ownerId) => {
      if (concerns(ownerId, principal)) void server.sendToolListChanged().catch(() => undefined);
    }),
    options.prompts?.onChange((ownerId) => {
      if (concerns(ownerId, principal)) void server.sendPromptListChanged().catch(() => undefined);
    }),
    announceResources(server, options, exchange.caller),
    () => endSubscriptions(server),
  ];
  server.onclose = () => {
    stops.forEach((stop) => stop?.());
    connected?.[Symbol.dispose]();
  };
  return server;
}

function cacheHints() {
  const kept = { ttlMs: LIST_TTL_MS, cacheScope: "private" } as const;
  const fresh = { ttlMs: 0, cacheScope: "private" } as const;
  return {
    "tools/list": kept,
    "prompts/list": kept,
    "resources/templates/list": kept,
    "server/discover": kept,
    "resources/list": fresh,
    "resources/read": fresh,
  };
}

function listTools(
  { tools, onError }: McpServerOptions,
  { caller, lists }: McpConnection,
  { cursor, context }: { readonly cursor: string | undefined; readonly context: ServerContext },
): ListToolsResult {
  try {
    const { bytes, nextCursor } = tools.listPage(caller.principal, cursor);
    const isLeftOut = lists.offer(context.mcpReq.id, bytes);
    const listed: unknown = isLeftOut ? [] : JSON.parse(bytes.toString());
    return { tools: listed as ListToolsResult["tools"], ...(nextCursor !== undefined && { nextCursor }) };
  } catch (error) {
    throw toProtocolError(error, onError);
  }
}

function refuseValidation(): never {
  throw new ProtocolError(ProtocolErrorCode.InternalError, "This server checks the input that it asks for by itself");
}
