import { isJSONRPCRequest } from "@modelcontextprotocol/server";
import type { McpServerOptions } from "./server-options.ts";
import type { Caller } from "./tool-door.ts";

const URIS_MAX = 1_000;

/**
 * Has the resources watched that a `subscriptions/listen` names. The SDK serves that request by itself, and honours a URI
 * whether or not there is such a resource, so one that cannot be watched is no failure.
 */
export function watchListened({ resources }: McpServerOptions, { principal }: Caller, message: unknown): void {
  if (!resources) return;
  for (const uri of listenedUris(message)) void resources.watch(principal, uri).catch(() => undefined);
}

function listenedUris(message: unknown): readonly string[] {
  if (!isJSONRPCRequest(message) || message.method !== "subscriptions/listen") return [];
  const { notifications } = (message.params ?? {}) as { notifications?: { resourceSubscriptions?: unknown } };
  const uris = notifications?.resourceSubscriptions;
  return Array.isArray(uris) ? uris.slice(0, URIS_MAX).filter((uri) => typeof uri === "string") : [];
}
