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
  readonly annotations: {
    readonly readOnlyHint: boolean;
    readonly destructiveHint: boolean;
    readonly idempotentHint: boolean;
    readonly openWorldHint: boolean;
  };
  readonly input: Input;
  readonly output?: z.ZodObject;
  run(context: ToolContext, args: z.output<Input>): Promise<ToolResult>;
}

export interface ToolContext {
  readonly principal: Principal;
  /** Aborts when the caller cancels or goes away; the work must stop with it. */
  readonly signal: AbortSignal;
  /** The sandbox that `id` names, or the caller's default one. */
  sandbox(id?: string): Promise<Sandbox>;
  /** Tells the caller that work goes on; dropped when it did not ask. */
  progress(message: string): void;
}

export interface ToolResult {
  readonly content: readonly ToolContent[];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly isError?: boolean;
}

export type ToolContent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image"; readonly data: string; readonly mimeType: string };

/** Types `args` by `input`. */
export function defineTool<Input extends z.ZodType>(tool: Tool<Input>): Tool<Input> {
  return tool;
}
