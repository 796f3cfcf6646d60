import * as z from "zod";
import { integer, time } from "./config-fields.ts";
import { DAY_MS } from "./units.ts";

/** MCP servers behind the hub. */
export function mcpSchema() {
  return z
    .strictObject({
      prefix: z
        .string()
        .max(18)
        .regex(/^[A-Za-z0-9_-]*$/, "must be letters, digits, _ and -")
        .default("mcp_")
        .describe("What the names of other servers' tools begin with, before the server's name. Empty: tools keep their own names"),
      idleMs: time(1_000, DAY_MS).default(600_000).describe("A server of an MCP configuration that nobody has called for so long ends"),
      listMax: integer(0, 1000)
        .default(40)
        .describe("Maximum number of other servers' tools in a list, of 8,000 tokens in all. The others are found by a search"),
      concurrency: integer(1, 10_000)
        .default(64)
        .describe("Maximum number of calls that one server of an MCP configuration answers at once"),
      queue: integer(0, 100_000).default(256).describe("Maximum number of calls that wait for one such server. One more is refused"),
    })
    .prefault({});
}
