import * as z from "zod";
import type { Tool } from "../../catalog/tool.ts";
import { defineDataTool } from "../../catalog/tool.ts";
import { dataResult } from "../../catalog/tool-result.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";
import type { PortUrls } from "./port-urls.ts";

const ROWS_MAX = 200;

const Row = z.object({
  port: z.number().int(),
  address: z.string().nullable().describe("Where a program listens; null when none does"),
  url: z.string().nullable().describe("Its link; null when register_port has made none"),
});

export function createListPorts(urls: PortUrls): Tool {
  return defineDataTool({
    name: "list_ports",
    title: "List ports",
    description: `Lists what listens in your sandbox with TCP, and the links that register_port has made. At most ${ROWS_MAX} come back.`,
    toolset: "ports",
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    input: z.strictObject({ sandbox: sandboxArgument(DEFAULT_SANDBOX) }),
    output: z.object({ ports: z.array(Row), truncated: z.boolean() }),
    async run(context, { sandbox: id }) {
      const { listening, links } = await (await context.sandbox(id)).ports();
      const linked = new Map(await Promise.all(links.map(async (link) => [link.port, (await urls(link)).url] as const)));
      const open = listening.map(({ port, address }) => ({ port, address, url: linked.get(port) ?? null }));
      const heard = new Set(listening.map(({ port }) => port));
      const idle = [...linked].filter(([port]) => !heard.has(port));
      const rows = [...open, ...idle.map(([port, url]) => ({ port, address: null, url }))];
      const ports = rows.slice(0, ROWS_MAX);
      const truncated = rows.length > ports.length;
      return dataResult({ ports, truncated });
    },
  });
}
