import type { GetPromptResult, ListPromptsResult, Server } from "@modelcontextprotocol/server";
import type { McpConnection } from "./mcp-connection.ts";
import { toProtocolError } from "./protocol-error.ts";
import { runRounds, toAsker } from "./rounds.ts";
import type { McpServerOptions } from "./server-options.ts";

export function servePrompts(server: Server, { prompts, onError }: McpServerOptions, connection: McpConnection): void {
  if (!prompts) return;
  const { principal } = connection.caller;
  server.setRequestHandler("prompts/list", (): ListPromptsResult => ({
    prompts: [...prompts.list(principal)] as ListPromptsResult["prompts"],
  }));
  server.setRequestHandler("prompts/get", async ({ params: { name, arguments: args = {} } }, context): Promise<GetPromptResult> => {
    const asked = { server, context, method: "prompts/get", name, args };
    try {
      const result = await runRounds(connection, asked, (running) => prompts.get(toAsker(principal, running), name, args));
      return result as GetPromptResult;
    } catch (error) {
      throw toProtocolError(error, onError);
    }
  });
}
