import type { McpServers } from "../../src/gateway/routes/servers.ts";
import type { McpServerInfo } from "../../src/mcp/proxy/hub-server.ts";

/** Servers that begin to serve at once, for whoever asks. */
export function fakeServers(...names: readonly string[]): McpServers {
  const known = new Set(names);
  const infoOf = (name: string): McpServerInfo => ({
    name,
    state: "ready",
    transport: "stdio",
    isolation: "sandbox",
    network: "none",
    tools: [],
    instances: 1,
  });
  return {
    servers: () => [...known].map(infoOf),
    details: async (_principal, name) => ({ ...infoOf(name), runs: "memo --fast", changes: [], digest: "d" }),
    logs: () => ["ready"],
    restart: async () => undefined,
    beginLogin: async () => ({
      authorizationUrl: "https://auth.example/authorize?state=s",
      state: "s",
      redirectUri: "http://127.0.0.1:33418/callback",
      expiresAt: new Date(0),
    }),
    finishLogin: async () => undefined,
    update: async () => ({ before: "1.0.0", now: "1.1.0" }),
    add: async (_principal, entries) => Object.keys(entries).forEach((name) => known.add(name)),
    settled: async (_principal, wanted) => wanted.map(infoOf),
    remove: async (_principal, name) => void known.delete(name),
    approve: async () => undefined,
  };
}
