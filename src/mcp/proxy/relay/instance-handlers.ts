import type { ListName, ServerHandlers } from "../../client/server-handlers.ts";
import type { OpenCalls } from "../open-call.ts";

/** What a server of the hub is told of, beside its calls. */
export interface InstanceEvents {
  readonly listChanged: (list: ListName) => void;
  readonly resourceUpdated: (uri: string) => void;
}

/** Takes what an instance asks and tells to the caller of the one call that it answers. */
export function instanceHandlers(calls: OpenCalls, events: InstanceEvents): ServerHandlers {
  const relay =
    (method: string): NonNullable<ServerHandlers["elicit"]> =>
    (params, signal) =>
      calls.relay({ method, params }, signal);
  return {
    elicit: relay("elicitation/create"),
    elicitModes: ["form", "url"],
    sample: relay("sampling/createMessage"),
    roots: relay("roots/list"),
    logged: (params) => calls.log(params),
    elicited: (id) => calls.elicited(id),
    listChanged: events.listChanged,
    resourceUpdated: events.resourceUpdated,
  };
}
