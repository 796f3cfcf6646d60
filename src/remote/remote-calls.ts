import * as z from "zod";
import { parseAnswer } from "./server-answers.ts";
import { askServer, type ServerAddress } from "./server-connection.ts";

const listSchema = z.object({ tools: z.array(z.object({ name: z.string(), inputSchema: z.looseObject({ type: z.literal("object") }) })) });
const answerSchema = z.object({
  value: z.unknown(),
  content: z.array(z.looseObject({ type: z.string() })),
  structuredContent: z.looseObject({}).optional(),
  isError: z.boolean().optional(),
});

export type RemoteTool = Readonly<z.output<typeof listSchema>>["tools"][number];
export type RemoteAnswer = Readonly<z.output<typeof answerSchema>>;

/** The tools that the server's caller may call, and one call of them, by the routes for agents that speak no MCP. */
export interface RemoteCalls {
  list(signal: AbortSignal): Promise<readonly RemoteTool[]>;
  call(name: string, args: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<RemoteAnswer>;
}

export function createRemoteCalls(address: ServerAddress): RemoteCalls {
  return {
    async list(signal) {
      return parseAnswer(listSchema, await askServer(address, { method: "GET", path: "/tools", signal })).tools;
    },
    async call(name, args, signal) {
      const body = { name, arguments: args };
      return parseAnswer(answerSchema, await askServer(address, { method: "POST", path: "/tools/call", body, signal }));
    },
  };
}
