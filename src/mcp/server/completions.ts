import type { CompleteRequest, CompleteResult, Server } from "@modelcontextprotocol/server";
import type { Asker, Completion } from "./asker.ts";
import type { McpConnection } from "./mcp-connection.ts";
import { toProtocolError } from "./protocol-error.ts";
import { openChannel } from "./request-channel.ts";
import { clientOf } from "./rounds.ts";
import type { McpServerOptions } from "./server-options.ts";

/** What the protocol lets one answer hold. */
const VALUES_MAX = 100;

export function serveCompletions(server: Server, options: McpServerOptions, { caller, id }: McpConnection): void {
  if (!options.resources && !options.prompts) return;
  server.setRequestHandler("completion/complete", async ({ params }, context): Promise<CompleteResult> => {
    const client = clientOf(openChannel(server, context, id));
    const asker = { principal: caller.principal, ...client, signal: context.mcpReq.signal };
    try {
      const { values, total = values.length, hasMore = values.length > VALUES_MAX } = await complete(options, asker, params);
      return { completion: { values: values.slice(0, VALUES_MAX), total, hasMore } };
    } catch (error) {
      throw toProtocolError(error, options.onError);
    }
  });
}

async function complete(
  { resources, prompts }: McpServerOptions,
  asker: Asker,
  { ref, argument, context }: CompleteRequest["params"],
): Promise<Completion> {
  const wanted = { ...argument, given: context?.arguments ?? {} };
  const found = ref.type === "ref/prompt" ? prompts?.complete(asker, ref.name, wanted) : resources?.complete(asker, ref.uri, wanted);
  return (await found) ?? { values: [] };
}
