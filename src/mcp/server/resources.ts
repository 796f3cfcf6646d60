import type { ListResourcesResult, ListResourceTemplatesResult, ReadResourceResult, Server } from "@modelcontextprotocol/server";
import { BelljarError } from "../../errors.ts";
import { toProtocolError, toResourceError } from "./protocol-error.ts";
import { isModern } from "./request-channel.ts";
import type { McpServerOptions } from "./server-options.ts";
import type { Caller } from "../../catalog/caller.ts";

/** What one connection may follow at once. */
const SUBSCRIPTIONS_MAX = 1_000;
const subscriptions = new WeakMap<Server, Set<string>>();

export function serveResources(server: Server, { resources, onError }: McpServerOptions, { principal }: Caller): void {
  if (!resources) return;
  server.setRequestHandler("resources/list", async ({ params }): Promise<ListResourcesResult> => {
    const page = await resources.list(principal, params?.cursor).catch((error: unknown) => refuse(error));
    return { ...page, resources: [...page.resources] };
  });
  server.setRequestHandler("resources/templates/list", (): ListResourceTemplatesResult => ({
    resourceTemplates: [...resources.templates(principal)],
  }));
  server.setRequestHandler("resources/read", async ({ params: { uri } }, { mcpReq }): Promise<ReadResourceResult> => {
    try {
      return { contents: [...(await resources.read(principal, uri, mcpReq.signal))] };
    } catch (error) {
      throw toResourceError(error, uri, onError);
    }
  });
  const followed = new Set<string>();
  subscriptions.set(server, followed);
  server.setRequestHandler("resources/subscribe", async ({ params: { uri } }) => {
    if (followed.size >= SUBSCRIPTIONS_MAX && !followed.has(uri)) throw toResourceError(tooMany(), uri, onError);
    followed.add(uri);
    await resources.watch(principal, uri).catch((error: unknown) => {
      followed.delete(uri);
      throw toResourceError(error, uri, onError);
    });
    return {};
  });
  server.setRequestHandler("resources/unsubscribe", ({ params: { uri } }) => {
    followed.delete(uri);
    return {};
  });
  function refuse(error: unknown): never {
    throw toProtocolError(error, onError);
  }
}

function tooMany(): BelljarError {
  return new BelljarError("QUOTA_EXCEEDED", `A connection follows at most ${SUBSCRIPTIONS_MAX} resources; unsubscribe from some first`);
}

/** Tells the client of a connection about changes of its own resources; undefined when there are none to tell of. */
export function announceResources(server: Server, { resources }: McpServerOptions, { principal }: Caller): (() => void) | undefined {
  if (!resources) return undefined;
  const stopUpdates = resources.onUpdate((concerns, uri) => {
    if (concerns(principal) && isFollowed(server, uri)) void server.sendResourceUpdated({ uri }).catch(() => undefined);
  });
  const stopList = resources.onListChange((concerns) => {
    if (concerns(principal)) void server.sendResourceListChanged().catch(() => undefined);
  });
  return () => {
    stopUpdates();
    stopList();
  };
}

/** A client that keeps no such list, as those of 2026-07-28, says elsewhere what it follows. */
function isFollowed(server: Server, uri: string): boolean {
  return isModern(server) || (subscriptions.get(server)?.has(uri) ?? false);
}
