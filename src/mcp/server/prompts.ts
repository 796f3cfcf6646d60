import type { GetPromptResult, ListPromptsResult, Server } from "@modelcontextprotocol/server";
import { openChannel } from "./request-channel.ts";
import { toProtocolError } from "./protocol-error.ts";
import type { McpServerOptions } from "./server-options.ts";
import type { Caller } from "../../catalog/caller.ts";

export function servePrompts(server: Server, { prompts, onError }: McpServerOptions, { principal }: Caller): void {
  if (!prompts) return;
  server.setRequestHandler("prompts/list", (): ListPromptsResult => ({
    prompts: [...prompts.list(principal)] as ListPromptsResult["prompts"],
  }));
  server.setRequestHandler("prompts/get", async ({ params }, context): Promise<GetPromptResult> => {
    try {
      return (await prompts.get(principal, params.name, params.arguments ?? {}, openChannel(server, context))) as GetPromptResult;
    } catch (error) {
      throw toProtocolError(error, onError);
    }
  });
}
