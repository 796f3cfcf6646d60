import * as z from "zod";

const text = z.string().max(8192);
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
    .record(z.string().max(200), z.record(z.string(), z.unknown()))
    .describe("By name: entries as hosts write them, at most 50 for each caller. The fields of Belljar's own may stand beside theirs"),
});
