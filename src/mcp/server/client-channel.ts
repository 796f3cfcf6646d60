import type { LoggingLevel } from "@modelcontextprotocol/server";
import type { CallClient, ClientRequests } from "../../catalog/question.ts";

/** What a request says beside its own arguments, and what can be said to its client before the answer. */
export interface ClientChannel extends CallClient {
  relay: NonNullable<CallClient["relay"]>;
  /** What the client answered to an `InputRequired` of the same call, by its keys. */
  readonly inputResponses: Readonly<Record<string, unknown>>;
  /** Comes back as it was sent, or as somebody made it: check it. */
  readonly requestState: string | undefined;
  /** Reaches a client that wants messages of this level. */
  log(level: LoggingLevel, data: unknown, logger?: string): void;
}

/** An answer that asks the client for more, and to call again. Clients of older revisions are asked by requests of the server. */
export interface InputRequired {
  readonly resultType: "input_required";
  readonly inputRequests?: ClientRequests;
  readonly requestState?: string;
}
