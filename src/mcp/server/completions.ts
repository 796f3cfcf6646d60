import type { CompleteRequest, CompleteResult, Server } from "@modelcontextprotocol/server";
import { toProtocolError } from "./protocol-error.ts";
import type { McpServerOptions } from "./server-options.ts";
import type { Caller } from "../../catalog/caller.ts";

/** What the protocol lets one answer hold. */
const VALUES_MAX = 100;

export function serveCompletions(server: Server, options: McpServerOptions, caller: Caller): void {
  if (!options.resources && !options.prompts) return;
  server.setRequestHandler("completion/complete", async ({ params }): Promise<CompleteResult> => {
    try {
      const values = await findValues(options, caller, params);
      return { completion: { values: values.slice(0, VALUES_MAX), total: values.length, hasMore: values.length > VALUES_MAX } };
    } catch (error) {
      throw toProtocolError(error, options.onError);
    }
  });
}

async function findValues(
  { resources, prompts }: McpServerOptions,
  { principal }: Caller,
  { ref, argument, context }: CompleteRequest["params"],
): Promise<readonly string[]> {
  if (ref.type === "ref/prompt") return (await prompts?.complete(principal, ref.name, argument)) ?? [];
  return (await resources?.complete(principal, ref.uri, { ...argument, given: context?.arguments ?? {} })) ?? [];
}
