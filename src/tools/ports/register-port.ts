import * as z from "zod";
import type { Tool } from "../../catalog/tool.ts";
import { defineDataTool } from "../../catalog/tool.ts";
import { dataResult } from "../../catalog/tool-result.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";
import type { PortUrls } from "./port-urls.ts";

/** A link is for who holds its token: a model makes none that is open to all. */
export function createRegisterPort(urls: PortUrls): Tool {
  return defineDataTool({
    name: "register_port",
    title: "Make a link to a port",
    description: [
      "Gives the URL under which a server inside your sandbox opens in the user's browser. Start the server first, on 127.0.0.1 or on all addresses.",
      "HTTP, WebSocket and server-sent events work. The URL holds a token: who has it can open the port. The same port gives the same URL again.",
      "Show the user url; path_url is the same where names below localhost do not resolve, but its pages have no storage.",
    ].join("\n"),
    toolset: "ports",
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    input: z.strictObject({ port: z.number().int().min(1).max(65_535), sandbox: sandboxArgument(DEFAULT_SANDBOX) }),
    output: z.object({
      port: z.number().int(),
      url: z.string(),
      path_url: z.string(),
      listening: z.boolean().describe("false: start the server before the user opens the URL"),
    }),
    async run(context, { port, sandbox: id }) {
      const sandbox = await context.sandbox(id);
      const link = await sandbox.registerPort(port, "token");
      const [{ url, pathUrl }, { listening }] = await Promise.all([urls(link), sandbox.ports()]);
      return dataResult({ port, url, path_url: pathUrl, listening: listening.some((one) => one.port === port) });
    },
  });
}
