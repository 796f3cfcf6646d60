import type { ListResourcesResult, ListResourceTemplatesResult, ReadResourceResult, Server } from "@modelcontextprotocol/server";
import { BelljarError } from "../../errors.ts";
import { mergedUpdates } from "./bounded-notices.ts";
import type { McpConnection } from "./mcp-connection.ts";
import { toProtocolError, toResourceError } from "./protocol-error.ts";
import { isModern, openChannel } from "./request-channel.ts";
import { clientOf, runRounds, toAsker } from "./rounds.ts";
import type { McpServerOptions } from "./server-options.ts";
import type { Caller } from "../../catalog/caller.ts";

/** What one connection may follow at once. */
const SUBSCRIPTIONS_MAX = 1_000;

/** What a client follows of the resources, by their URIs. */
type Followed = Map<string, Promise<Disposable>>;
const subscriptions = new WeakMap<Server, Followed>();

export function serveResources(server: Server, { resources, onError }: McpServerOptions, connection: McpConnection): void {
  if (!resources) return;
  const { principal } = connection.caller;
  server.setRequestHandler("resources/list", async ({ params }): Promise<ListResourcesResult> => {
    const page = await resources.list(principal, params?.cursor).catch((error: unknown) => refuse(error));
    return { ...page, resources: [...page.resources] };
  });
  server.setRequestHandler("resources/templates/list", (): ListResourceTemplatesResult => ({
    resourceTemplates: [...resources.templates(principal)],
  }));
  server.setRequestHandler("resources/read", async ({ params: { uri } }, context): Promise<ReadResourceResult> => {
    const asked = { server, context, method: "resources/read", name: uri, args: {} };
    try {
      return (await runRounds(connection, asked, (running) => resources.read(toAsker(principal, running), uri))) as ReadResourceResult;
    } catch (error) {
      throw toResourceError(error, uri, onError);
    }
  });
  const followed: Followed = new Map();
  subscriptions.set(server, followed);
  server.setRequestHandler("resources/subscribe", async ({ params: { uri } }, context) => {
    if (followed.size >= SUBSCRIPTIONS_MAX && !followed.has(uri)) throw toResourceError(tooMany(), uri, onError);
    const client = clientOf(openChannel(server, context, connection.id));
    const watch = followed.get(uri) ?? resources.watch({ principal, ...client, signal: context.mcpReq.signal }, uri);
    followed.set(uri, watch);
    await watch.catch((error: unknown) => {
      followed.delete(uri);
      throw toResourceError(error, uri, onError);
    });
    return {};
  });
  server.setRequestHandler("resources/unsubscribe", ({ params: { uri } }) => {
    unfollow(followed, uri);
    return {};
  });
  function refuse(error: unknown): never {
    throw toProtocolError(error, onError);
  }
}

/** For the end of a connection. */
export function endSubscriptions(server: Server): void {
  const followed = subscriptions.get(server);
  for (const uri of followed?.keys() ?? []) unfollow(followed ?? new Map(), uri);
}

function unfollow(followed: Followed, uri: string): void {
  const watch = followed.get(uri);
  followed.delete(uri);
  watch?.then(
    (following) => following[Symbol.dispose](),
    () => undefined,
  );
}

function tooMany(): BelljarError {
  return new BelljarError("QUOTA_EXCEEDED", `A connection follows at most ${SUBSCRIPTIONS_MAX} resources; unsubscribe from some first`);
}

/** Tells the client of a connection about changes of its own resources; undefined when there are none to tell of. */
export function announceResources(server: Server, { resources }: McpServerOptions, { principal }: Caller): (() => void) | undefined {
  if (!resources) return undefined;
  const tell = mergedUpdates((uri) => server.sendResourceUpdated({ uri }));
  const stopUpdates = resources.onUpdate((concerns, uri) => {
    if (concerns(principal) && isFollowed(server, uri)) tell(uri);
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
