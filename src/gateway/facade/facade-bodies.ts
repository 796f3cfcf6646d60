import * as z from "zod";

const text = z.string().max(8192);
const texts = z.record(z.string().max(256), text);
const mcpServer = z.union([
  z.object({ command: text.min(1), args: z.array(text).max(256).optional(), env: texts.optional(), cwd: text.optional() }).strict(),
  z.object({ url: z.url({ protocol: /^https?$/ }).max(2048), type: z.string().max(40).optional(), headers: texts.optional() }).strict(),
]);

/** How to reach an MCP server of the caller's: a command in its sandbox, or an address. */
export type McpServerConfig = z.output<typeof mcpServer>;

export const callBody = z.object({
  name: z.string().min(1).max(200).describe("Name of the tool"),
  arguments: z.record(z.string(), z.unknown()).default({}).describe("Its arguments"),
});
export const credentialBody = z.looseObject({
  user_api_key: text.min(1).describe("Key for the tool server"),
  session_id: text.min(1).describe("Session at the tool server"),
});
export const toolServerBody = z.object({
  tool_server_url: z
    .url({ protocol: /^https?$/ })
    .max(2048)
    .describe("Its address, by HTTP or HTTPS"),
});
export const customMcpBody = z.object({
  mcpServers: z
    .record(z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,29}$/), mcpServer)
    .refine((servers) => Object.keys(servers).length <= 64, {
      message: "has at most 64 servers",
    })
    .describe("By name: a command with its arguments, or an address"),
});
