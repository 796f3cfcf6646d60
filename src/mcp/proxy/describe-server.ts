import type { HubServer, McpServerInfo } from "./hub-server.ts";

/** What can be told of a server that does not run. */
export function shapeOf({ name, target, settings }: HubServer): Omit<McpServerInfo, "state" | "tools"> {
  const isSandboxed = target.kind === "stdio" && settings.isolation === "sandbox";
  return {
    name,
    transport: target.kind === "stdio" ? "stdio" : "http",
    isolation: isSandboxed ? "sandbox" : "none",
    ...(isSandboxed && { network: settings.network }),
    ...(settings.reaches !== undefined && { network: settings.reaches }),
    instances: 0,
  };
}

/** Beyond what a person reads, and what is looked through for secrets. */
const SHOWN_MAX = 4_096;

/** The program with its arguments, or the address; of very many characters the first. It may hold secrets. */
export function describeServer({ target }: HubServer): string {
  const text = target.kind === "stdio" ? [target.command, ...target.args].join(" ") : `${target.url.origin}${target.url.pathname}`;
  if (text.length <= SHOWN_MAX) return text;
  // Whole words: the beginning of a secret is not recognised as one.
  const start = text.slice(0, SHOWN_MAX);
  return `${start.slice(0, start.lastIndexOf(" ") + 1)}... (${text.length} characters)`;
}
