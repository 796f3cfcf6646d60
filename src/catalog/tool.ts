import type * as z from "zod";
import type { Principal, Sandbox } from "../sandbox/sandbox.ts";

/** One callable entry of the catalog. A tool never checks tokens or quotas and knows no transport. */
export interface Tool<Input extends z.ZodType = z.ZodType> {
  /** `verb_noun`, at most 40 characters. */
  readonly name: string;
  readonly title: string;
  /** For a model: when to use it and what comes back; below 2,048 characters. */
  readonly description: string;
  readonly toolset: string;
  /** Absent: built in. */
  readonly origin?: "dynamic" | "proxied";
  /**
   * `discovery`: reaches the tools that a list does not show; is in every scope, and listed only beside such tools.
   * `support`: what other tools' results rely on; comes with every toolset.
   */
  readonly role?: "discovery" | "support";
  readonly annotations: {
    readonly readOnlyHint: boolean;
    readonly destructiveHint: boolean;
    readonly idempotentHint: boolean;
    readonly openWorldHint: boolean;
  };
  /** Set: it only lists or ends, so it runs also while the audit cannot be written, as on a full disk. */
  readonly listsOrEnds?: true;
  readonly input: Input;
  readonly output?: z.ZodObject;
  run(context: ToolContext, args: z.output<Input>): Promise<ToolResult>;
  /** Set: the call stands for this other one, which takes its place at the door, and in the audit; `run` is never called. */
  forward?(args: z.output<Input>): ForwardedCall;
}

export interface ForwardedCall {
  readonly name: string;
  readonly arguments: unknown;
}

export interface ToolContext {
  readonly principal: Principal;
  /** Aborts when the caller cancels or goes away; the work must stop with it. */
  readonly signal: AbortSignal;
  /** The sandbox that `id` names, or the caller's default one. */
  sandbox(id?: string): Promise<Sandbox>;
  /** Tells the caller that work goes on; dropped when it did not ask. */
  progress(message: string): void;
  /** For a person who watches the client's log; dropped where there is none. */
  log(level: CallLogLevel, message: string): void;
  /** The caller's tools, listed or not. */
  readonly tools: ToolFinder;
  readonly results: ResultStore;
}

/** The caller's results that were cut. */
export interface ResultStore {
  /** Keeps a text that is too long to answer; answers its URI. */
  keep(text: string): string;
  read(id: string, range: ByteRange): KeptPart;
}

/** In bytes of the whole text. */
export interface ByteRange {
  readonly offset?: number;
  readonly limit?: number;
}

export interface KeptPart {
  readonly text: string;
  /** Where it starts; a character that lies across the wanted offset belongs to the part before. */
  readonly offset: number;
  readonly bytes: number;
  /** Of the whole. */
  readonly total: number;
}

export type CallLogLevel = "debug" | "info" | "notice" | "warning" | "error";

export interface ToolFinder {
  search(query: string, limit: number): Promise<ToolSearch>;
  /** Throws as a call of it would: `TOOL_NOT_FOUND` or `FORBIDDEN`. */
  describe(name: string): ToolDescription;
}

/** One answer of a search. */
export interface FoundTool {
  readonly name: string;
  readonly title: string;
  /** The first sentence of its description. */
  readonly summary: string;
  readonly toolset: string;
}

export interface ToolSearch {
  readonly tools: readonly FoundTool[];
  /** How many match in all. */
  readonly total: number;
}

/** A tool as callers see it. The schemas are JSON Schema 2020-12. */
export interface ToolDescription {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema?: JsonSchema;
  readonly annotations: Tool["annotations"] & { readonly title: string };
}

export type JsonSchema = { readonly type: "object" } & Readonly<Record<string, unknown>>;

export interface ToolResult {
  readonly content: readonly ToolContent[];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly isError?: boolean;
}

export type ToolContent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image"; readonly data: string; readonly mimeType: string }
  | { readonly type: "audio"; readonly data: string; readonly mimeType: string }
  /** Names a resource that the client may read. */
  | {
      readonly type: "resource_link";
      readonly uri: string;
      readonly name: string;
      readonly mimeType?: string;
      readonly description?: string;
    }
  | { readonly type: "resource"; readonly resource: ResourceContent };

/** The content of a resource, or of a part of one. `blob` is base64. */
export type ResourceContent = { readonly uri: string; readonly mimeType?: string } & (
  | { readonly text: string }
  | { readonly blob: string }
);

/** Types `args` by `input`. */
export function defineTool<Input extends z.ZodType>(tool: Tool<Input>): Tool<Input> {
  return tool;
}
