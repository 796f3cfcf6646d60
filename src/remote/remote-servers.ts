import * as z from "zod";
import { networkPolicySchema } from "../sandbox/network-schema.ts";
import { parseAnswer } from "./server-answers.ts";
import { askServer } from "./server-connection.ts";
import type { ServerAddress } from "./server-connection.ts";

export const serversAnswer = z.object({
  servers: z.array(
    z.object({
      name: z.string(),
      state: z.enum(["starting", "ready", "failed", "stopped"]).describe("stopped: no instance runs; the next call starts one"),
      transport: z.enum(["stdio", "http"]).optional(),
      isolation: z.enum(["sandbox", "none"]).optional().describe("none: it runs on the server's machine, or somewhere else"),
      network: networkPolicySchema.optional().describe("Of its sandbox"),
      refused: z.array(z.string()).optional().describe("Rules of the network that would have allowed what was refused to it"),
      tools: z.array(z.string()).describe("The names that callers see"),
      instances: z.number().int().describe("How many run now"),
      error: z.object({ code: z.string(), message: z.string() }).optional(),
    }),
  ),
});

export const serverLogs = z.object({ lines: z.array(z.string()).describe("Characters that control a terminal are escaped") });

export const serverUpdate = z.object({
  before: z.string().optional().describe("The version of its package until now. Absent: it was never installed"),
  now: z.string(),
});

export type McpServerAnswer = z.output<typeof serversAnswer>["servers"][number];

/** The MCP servers whose tools a server serves too. */
export interface RemoteMcpServers {
  list(): Promise<readonly McpServerAnswer[]>;
  logs(name: string): Promise<readonly string[]>;
  restart(name: string): Promise<void>;
  update(name: string): Promise<z.output<typeof serverUpdate>>;
}

export function createRemoteMcpServers(address: ServerAddress): RemoteMcpServers {
  const pathOf = (name: string): string => `/v1/servers/${encodeURIComponent(name)}`;
  return {
    list: async () => parseAnswer(serversAnswer, await askServer(address, { method: "GET", path: "/v1/servers" })).servers,
    logs: async (name) => parseAnswer(serverLogs, await askServer(address, { method: "GET", path: `${pathOf(name)}/logs` })).lines,
    async restart(name) {
      await askServer(address, { method: "POST", path: `${pathOf(name)}/restart` });
    },
    update: async (name) => parseAnswer(serverUpdate, await askServer(address, { method: "POST", path: `${pathOf(name)}/update` })),
  };
}
