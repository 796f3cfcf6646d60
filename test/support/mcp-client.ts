import type { McpClient, McpClientOptions } from "../../src/mcp/client/mcp-client.ts";
import { openMcpClient } from "../../src/mcp/client/open-mcp-client.ts";

const ENV = { PATH: process.env["PATH"], HOME: "/home/ann", TOKEN: "t0ken", AWS_SECRET_ACCESS_KEY: "s3cret" };

/** Opens servers as a person with this environment would. */
export async function openServers(servers: object, options: Partial<McpClientOptions> = {}): Promise<McpClient> {
  return openMcpClient({ config: { mcpServers: servers }, env: ENV, workspaceFolder: "/", userHome: "/home/ann", ...options });
}

export function textOf(result: Readonly<Record<string, unknown>>): string {
  return (result["content"] as { text: string }[])[0]?.text ?? "";
}
