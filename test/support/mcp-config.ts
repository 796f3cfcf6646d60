import { writeFileSync } from "node:fs";
import { join } from "node:path";

const RICH = join(import.meta.dirname, "../fixtures/mcp-rich.mjs");
const CARELESS = join(import.meta.dirname, "../fixtures/mcp-careless.mjs");

/** The entry of a server with something of everything. */
export function richServer(era: "modern" | "legacy" = "modern"): object {
  return { command: process.execPath, args: [RICH, era] };
}

/** The entry of a server that breaks rules, in the way that its mode names. */
export function carelessServer(mode = "plain", env: object = {}): object {
  return { command: process.execPath, args: [CARELESS, mode], env };
}

/** Writes a host's configuration into a folder, and gives its path. */
export function writeMcpConfig(folder: string, servers: object, more: object = {}): string {
  const file = join(folder, "servers.json");
  writeFileSync(file, JSON.stringify({ mcpServers: servers, ...more }));
  return file;
}
