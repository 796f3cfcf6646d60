import type { HubServer, McpServerInfo } from "./hub-server.ts";

/** What can be told of a server that does not run. */
export function shapeOf({ name, target, settings }: HubServer): Omit<McpServerInfo, "state" | "tools"> {
  const isSandboxed = target.kind === "stdio" && settings.isolation === "sandbox";
  return {
    name,
    transport: target.kind === "stdio" ? "stdio" : "http",
    isolation: isSandboxed ? "sandbox" : "none",
    ...(isSandboxed && { network: settings.network }),
    instances: 0,
  };
}

/** The program with its arguments, or the address. It may hold secrets. */
export function describeServer({ target }: HubServer): string {
  return target.kind === "stdio" ? [target.command, ...target.args].join(" ") : `${target.url.origin}${target.url.pathname}`;
}
