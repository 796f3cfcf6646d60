/** The public API of `belljar/client`, listed by hand; `test/pins/exports.test.ts` holds it. It loads nothing of sandboxes. */
import { homedir } from "node:os";
import { currentEnvironment } from "./config/environment.ts";
import type { McpClient, McpClientOptions } from "./mcp/client/mcp-client.ts";
import { openMcpClient as open } from "./mcp/client/open-mcp-client.ts";

export { BelljarError } from "./errors.ts";
export type { ErrorCode } from "./errors.ts";
export type { ConfigInput } from "./mcp/client/config/server-config.ts";
export type {
  CompletionWish,
  McpClient,
  McpClientOptions,
  McpQuestion,
  McpServer,
  McpTool,
  ListToolsOptions,
  ToolList,
  WireRecord,
} from "./mcp/client/mcp-client.ts";
export type { JsonObject } from "./mcp/client/json-object.ts";
export type { LoginDoor, LoginReturn, OpenLoginDoor } from "./mcp/client/oauth/login-door.ts";
export type { LoginOptions } from "./mcp/client/oauth/server-login.ts";
export type { Progress, RequestOptions } from "./mcp/client/server-session.ts";

/** What a program need not say: the environment, the current folder and the home of its person. */
type Ambient = Pick<McpClientOptions, "env" | "workspaceFolder" | "userHome">;
export type OpenMcpClientOptions = Omit<McpClientOptions, keyof Ambient> & Partial<Ambient>;

/**
 * Starts the servers of a configuration beside each other, with the rights of this process. A server that fails has its error in `servers`.
 * Rejects with `CONFIG_INVALID` for a file that cannot be read, and with `CANCELLED` when the signal aborts, after what was started has
 * ended. Whoever opens the client disposes it, which ends the servers.
 */
export async function openMcpClient(options: OpenMcpClientOptions): Promise<McpClient> {
  return open({ env: currentEnvironment(), workspaceFolder: process.cwd(), userHome: homedir(), ...options });
}
