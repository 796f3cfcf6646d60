import type { ClientOptions } from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/client";
import type { JsonObject } from "./json-object.ts";

export type ListName = "tools" | "resources" | "prompts";
export type WireDirection = "sent" | "received";

/** What a program does with what one server asks and tells. */
export interface ServerHandlers {
  readonly elicit?: (params: JsonObject, signal: AbortSignal | undefined) => Promise<JsonObject>;
  /** How `elicit` can be asked: with a form, or with an address that a person opens. Default: with forms alone. */
  readonly elicitModes?: readonly ("form" | "url")[];
  readonly sample?: (params: JsonObject, signal: AbortSignal | undefined) => Promise<JsonObject>;
  /** Names the folders of the client. */
  readonly roots?: (params: JsonObject, signal: AbortSignal | undefined) => Promise<JsonObject>;
  readonly listChanged?: (list: ListName) => void;
  /** A resource that is followed has changed. */
  readonly resourceUpdated?: (uri: string) => void;
  /** What a person did at an address is done: an elicitation of this id. */
  readonly elicited?: (id: string) => void;
  /** A message of the server's log, as it came. */
  readonly logged?: (params: JsonObject) => void;
  readonly message?: (direction: WireDirection, message: unknown) => void;
}

/** A client that names as its abilities those that have a handler. */
export function createClient(version: string, versionNegotiation: ClientOptions["versionNegotiation"], handlers: ServerHandlers): Client {
  const { elicit, elicitModes = ["form"], sample, roots, listChanged, resourceUpdated, elicited, logged } = handlers;
  const elicitation = {
    ...(elicitModes.includes("form") && { form: { applyDefaults: true } }),
    ...(elicitModes.includes("url") && { url: {} }),
  };
  const client = new Client(
    { name: "belljar", version },
    {
      ...(versionNegotiation && { versionNegotiation }),
      capabilities: { ...(elicit && { elicitation }), ...(sample && { sampling: {} }), ...(roots && { roots: {} }) },
      ...(listChanged && { listChanged: toldOf(listChanged) }),
    },
  );
  type Answer<Result> = (request: { readonly params: object }, context: { readonly mcpReq?: { readonly signal?: AbortSignal } }) => Result;
  const answered =
    (handler: NonNullable<typeof elicit>): Answer<Promise<never>> =>
    async ({ params }, context) =>
      // The SDK checks the answer against its schema before it is sent.
      (await handler({ ...params }, context.mcpReq?.signal)) as never;
  if (elicit) client.setRequestHandler("elicitation/create", answered(elicit));
  if (sample) client.setRequestHandler("sampling/createMessage", answered(sample));
  if (roots)
    client.setRequestHandler("roots/list", async (request, context) => answered(roots)({ params: { ...request.params } }, context));
  if (resourceUpdated) client.setNotificationHandler("notifications/resources/updated", ({ params }) => resourceUpdated(params.uri));
  if (elicited) client.setNotificationHandler("notifications/elicitation/complete", ({ params }) => elicited(params.elicitationId));
  if (logged) client.setNotificationHandler("notifications/message", ({ params }) => logged(params));
  return client;
}

/** Lists are read by whoever wants them: the SDK's own reading would fail for a whole list with one malformed tool. */
function toldOf(listChanged: (list: ListName) => void): NonNullable<ClientOptions["listChanged"]> {
  const tell = (list: ListName) => ({ autoRefresh: false, debounceMs: 0, onChanged: () => listChanged(list) });
  return { tools: tell("tools"), resources: tell("resources"), prompts: tell("prompts") };
}
