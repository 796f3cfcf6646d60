import * as z from "zod";
import { networkPolicySchema } from "../sandbox/network-schema.ts";
import { parseAnswer } from "./server-answers.ts";
import { askServer } from "./server-connection.ts";
import type { ServerAddress } from "./server-connection.ts";

export const serverInfo = z.object({
  name: z.string(),
  state: z
    .enum(["starting", "ready", "failed", "needs_approval", "needs_login", "stopped"])
    .describe(
      "stopped: no instance runs; the next call starts one. needs_approval: nothing of it was started. needs_login: `belljar server login`",
    ),
  transport: z.enum(["stdio", "http"]).optional(),
  isolation: z.enum(["sandbox", "none"]).optional().describe("none: it runs on the server's machine, or somewhere else"),
  network: networkPolicySchema.optional().describe("Of its sandbox; of a server over HTTP where requests to it may lead"),
  refused: z.array(z.string()).optional().describe("Rules of the network that would have allowed what was refused to it"),
  tools: z.array(z.string()).describe("The names that callers see"),
  instances: z.number().int().describe("How many run now"),
  changed: z.number().int().optional().describe("How many of its definitions are not as they were approved. Absent: none"),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
});

const changeSchema = z.object({
  list: z.string().describe("What was listed, as `tools`"),
  name: z.string().describe("As the server names it"),
  kind: z.enum(["added", "changed", "removed"]),
  before: z.string().optional().describe("The definition as it was approved"),
  after: z.string().optional().describe("The definition as it was listed last"),
});

export const serverDetails = serverInfo.extend({
  runs: z.string().optional().describe("The program with its arguments, or the address, without what looks like a secret"),
  mount: z
    .object({ host: z.string(), mode: z.enum(["copy", "ro", "rw"]) })
    .optional()
    .describe("The folder of the server's machine that it sees"),
  settings: z
    .array(z.object({ name: z.string(), value: z.string() }))
    .optional()
    .describe("What else its entry gives it or confines it to; of variables, headers and secrets the names alone"),
  changes: z.array(changeSchema).describe("The first 100 changes of its definitions since they were approved"),
  digest: z.string().optional().describe("Stands for exactly what is shown here; an approval may name it"),
});

export const serverLogin = z.discriminatedUnion("status", [
  z.object({
    status: z.literal("waiting"),
    authorizationUrl: z.string().describe("For a browser, wherever it is"),
    state: z.string().describe("Of this login; it is in the address too"),
    redirectUri: z.string().describe("Where the browser comes back to. Nobody needs to listen there: its address is what is asked for"),
    expiresAt: z.iso.datetime(),
  }),
  z.object({ status: z.literal("done"), server: serverInfo }),
]);

export const serversAnswer = z.object({ servers: z.array(serverInfo) });

export const serverLogs = z.object({ lines: z.array(z.string()).describe("Characters that control a terminal are escaped") });

export const serverUpdate = z.object({
  before: z.string().optional().describe("The version of its package until now. Absent: it was never installed"),
  now: z.string(),
});

export type McpServerAnswer = z.output<typeof serverInfo>;
export type McpServerDetailsAnswer = z.output<typeof serverDetails>;

/** The MCP servers whose tools a server serves too. */
export interface RemoteMcpServers {
  list(): Promise<readonly McpServerAnswer[]>;
  /** Rejects with `MCP_SERVER_NOT_FOUND`. */
  details(name: string): Promise<McpServerDetailsAnswer>;
  /** `entry` as hosts write it. */
  add(name: string, entry: Readonly<Record<string, unknown>>): Promise<McpServerAnswer>;
  remove(name: string): Promise<void>;
  /** `digest`: of what was looked at. */
  approve(name: string, digest?: string): Promise<McpServerDetailsAnswer>;
  logs(name: string): Promise<readonly string[]>;
  restart(name: string): Promise<void>;
  update(name: string): Promise<z.output<typeof serverUpdate>>;
}

/** Begins a login at one of a server's MCP servers, or ends it: see `POST /v1/servers/:name/login`. */
export async function askServerLogin(
  address: ServerAddress,
  name: string,
  { body, signal }: { readonly body: Readonly<Record<string, string>>; readonly signal: AbortSignal },
): Promise<z.output<typeof serverLogin>> {
  const path = `/v1/servers/${encodeURIComponent(name)}/login`;
  return parseAnswer(serverLogin, await askServer(address, { method: "POST", path, body, signal }));
}

export function createRemoteMcpServers(address: ServerAddress): RemoteMcpServers {
  const path = "/v1/servers";
  const pathOf = (name: string): string => `${path}/${encodeURIComponent(name)}`;
  return {
    list: async () => parseAnswer(serversAnswer, await askServer(address, { method: "GET", path: "/v1/servers" })).servers,
    details: async (name) => parseAnswer(serverDetails, await askServer(address, { method: "GET", path: pathOf(name) })),
    add: async (name, entry) => parseAnswer(serverInfo, await askServer(address, { method: "POST", path, body: { ...entry, name } })),
    async remove(name) {
      await askServer(address, { method: "DELETE", path: pathOf(name) });
    },
    async approve(name, digest) {
      const body = digest === undefined ? {} : { digest };
      return parseAnswer(serverDetails, await askServer(address, { method: "POST", path: `${pathOf(name)}/approve`, body }));
    },
    logs: async (name) => parseAnswer(serverLogs, await askServer(address, { method: "GET", path: `${pathOf(name)}/logs` })).lines,
    async restart(name) {
      await askServer(address, { method: "POST", path: `${pathOf(name)}/restart` });
    },
    update: async (name) => parseAnswer(serverUpdate, await askServer(address, { method: "POST", path: `${pathOf(name)}/update` })),
  };
}
