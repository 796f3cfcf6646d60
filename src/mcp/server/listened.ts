import { isRequestOf } from "./json-rpc.ts";
import type { McpServerOptions } from "./server-options.ts";
import type { Caller } from "../../catalog/caller.ts";

const URIS_MAX = 1_000;

/**
 * Watches the resources that a `subscriptions/listen` names, and the list if the request asks for it. The SDK answers that request by
 * itself and accepts any URI, so a resource that cannot be watched is no failure.
 */
export function watchListened({ resources }: McpServerOptions, { principal }: Caller, message: unknown): void {
  if (!resources) return;
  const { resourceSubscriptions: uris, resourcesListChanged } = listenedOf(message);
  if (resourcesListChanged === true) void resources.list(principal).catch(() => undefined);
  for (const uri of textsOf(uris)) void resources.watch(principal, uri).catch(() => undefined);
}

function listenedOf(message: unknown): { readonly resourceSubscriptions?: unknown; readonly resourcesListChanged?: unknown } {
  if (!isRequestOf(message, "subscriptions/listen")) return {};
  const { notifications } = (message.params ?? {}) as { notifications?: object };
  return notifications ?? {};
}

function textsOf(uris: unknown): readonly string[] {
  return Array.isArray(uris) ? uris.slice(0, URIS_MAX).filter((uri) => typeof uri === "string") : [];
}
