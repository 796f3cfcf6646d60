import { isRequestOf } from "./json-rpc.ts";
import type { McpServerOptions } from "./server-options.ts";
import type { RequestId } from "@modelcontextprotocol/server";
import type { Asker } from "./asker.ts";

const URIS_MAX = 1_000;
const LISTEN = "subscriptions/listen";

/** The requests of `subscriptions/listen` that are open on one connection. */
export class Listening implements Disposable {
  readonly #open = new Map<RequestId, AbortController>();

  /** Aborts when the client takes the request back, or the connection ends. */
  signalOf(message: unknown): AbortSignal {
    const controller = new AbortController();
    if (isRequestOf(message, LISTEN)) this.#open.set(message.id, controller);
    const { method, params } = (message ?? {}) as { method?: unknown; params?: { requestId?: RequestId } };
    if (method === "notifications/cancelled" && params?.requestId !== undefined) this.#end(params.requestId);
    return controller.signal;
  }

  [Symbol.dispose](): void {
    for (const id of this.#open.keys()) this.#end(id);
  }

  #end(id: RequestId): void {
    this.#open.get(id)?.abort();
    this.#open.delete(id);
  }
}

/**
 * Watches the resources that a `subscriptions/listen` names until the signal aborts, and the list if the request asks for it. The SDK answers that
 * request by itself and accepts any URI, so a resource that cannot be watched is no failure.
 */
export function watchListened({ resources }: McpServerOptions, asker: Asker, message: unknown): void {
  const { resourceSubscriptions: uris, resourcesListChanged } = listenedOf(message);
  if (!resources) return;
  if (resourcesListChanged === true) void resources.list(asker.principal).catch(() => undefined);
  for (const uri of textsOf(uris)) void resources.watch(asker, uri).then((watch) => keepUntil(watch, asker.signal), ignore);
}

function keepUntil(watch: Disposable, signal: AbortSignal): void {
  if (signal.aborted) watch[Symbol.dispose]();
  signal.addEventListener("abort", () => watch[Symbol.dispose](), { once: true });
}

function ignore(): void {
  // Nothing is told of it.
}

function listenedOf(message: unknown): { readonly resourceSubscriptions?: unknown; readonly resourcesListChanged?: unknown } {
  if (!isRequestOf(message, LISTEN)) return {};
  const { notifications } = (message.params ?? {}) as { notifications?: object };
  return notifications ?? {};
}

function textsOf(uris: unknown): readonly string[] {
  return Array.isArray(uris) ? uris.slice(0, URIS_MAX).filter((uri) => typeof uri === "string") : [];
}
