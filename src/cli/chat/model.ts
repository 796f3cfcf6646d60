import type { JsonObject } from "../../mcp/client/json-object.ts";

/** A tool as a model is told of it. */
export interface ModelTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
}

/** A call that a model wants. Nothing of it was checked. */
export interface ModelCall {
  readonly id: string;
  readonly name: string;
  /** JSON, if the model is right. */
  readonly argumentsText: string;
}

export interface CallResult {
  readonly id: string;
  readonly text: string;
  readonly isError: boolean;
}

/** A part of the conversation. */
export type ChatMessage =
  | { readonly role: "user"; readonly text: string }
  | { readonly role: "assistant"; readonly text: string; readonly calls: readonly ModelCall[] }
  | { readonly role: "tool"; readonly results: readonly CallResult[] };

export interface ModelRequest {
  readonly system: string | undefined;
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly ModelTool[];
}

/** What a request has cost, as far as the endpoint says it. */
export interface ModelUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly dollars?: number | undefined;
}

export interface ModelReply {
  readonly text: string;
  readonly calls: readonly ModelCall[];
  readonly usage: ModelUsage | undefined;
  /** Why the reply ended before its end, if it did. */
  readonly cut?: string | undefined;
}

export interface ReplyOptions {
  readonly signal: AbortSignal;
  /** Is given the text as it comes. */
  readonly onText: (text: string) => void;
}

/** A model behind an endpoint. */
export interface Model {
  readonly name: string;
  /**
   * Rejects with `UNAUTHORIZED`, `QUOTA_EXCEEDED`, `SERVER_REFUSED`, `SERVER_UNREACHABLE` or `SERVER_INCOMPATIBLE`, none of which has the
   * key in it, and with `CANCELLED` when the signal aborts.
   */
  reply(request: ModelRequest, options: ReplyOptions): Promise<ModelReply>;
}
