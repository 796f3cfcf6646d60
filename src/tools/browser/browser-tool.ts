import * as z from "zod";
import type { BrowserAction } from "../../browser/actions/action.ts";
import { Change, type ChangeFacts } from "../../browser/actions/change.ts";
import { findTargetProblem, type TargetArgs } from "../../browser/actions/fields.ts";
import type { TextResult, Tool, ToolContext } from "../../catalog/tool.ts";
import { defineTool } from "../../catalog/tool.ts";
import { textResult } from "../../catalog/tool-result.ts";
import { type BrowserSource, callBrowser } from "./browser-call.ts";
import { changeText } from "./change-text.ts";

const ID_MAX = 64;

/** As every tool's, without its words: twenty tools would repeat them in a list. */
export const SANDBOX = { sandbox: z.string().min(1).max(ID_MAX).optional() };

export const READS = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true };
export const ACTS = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true };

/** A tool before it knows where the browsers are. */
export type BrowserTool = (browsers: BrowserSource) => Tool;

export interface ToolHead<Fields extends z.ZodRawShape> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly fields: Fields;
  readonly toolset?: string;
  readonly reads?: boolean;
  /** Why the arguments do not go together. */
  readonly findProblem?: (args: z.output<z.ZodObject<Fields>>) => string | undefined;
}

interface BrowserToolOptions<Fields extends z.ZodRawShape> extends ToolHead<Fields> {
  readonly value: z.ZodType;
  readonly run: (call: Called, args: z.output<z.ZodObject<Fields>>) => Promise<TextResult>;
}

/** What a tool calls the browser with. */
export interface Called {
  readonly context: ToolContext;
  readonly browsers: BrowserSource;
  readonly sandbox: string | undefined;
}

export function browserTool<Fields extends z.ZodRawShape>(options: BrowserToolOptions<Fields>): BrowserTool {
  const { fields, findProblem, reads = false, run, ...head } = options;
  const input = z.strictObject({ ...fields, ...SANDBOX }).superRefine((args, problems) => {
    const message = findProblem?.(args as z.output<z.ZodObject<Fields>>);
    if (message !== undefined) problems.addIssue({ code: "custom", message });
  });
  return (browsers) =>
    defineTool({
      toolset: "browser",
      ...head,
      annotations: reads ? READS : ACTS,
      input,
      run: (context, given) => {
        const { sandbox, ...args } = given as z.output<z.ZodObject<Fields>> & { readonly sandbox?: string };
        return run({ context, browsers, sandbox }, args as z.output<z.ZodObject<Fields>>);
      },
    });
}

/** A tool whose action answers what it changed. */
export function actTool<Fields extends z.ZodRawShape>(
  options: ToolHead<Fields> & { readonly action: BrowserAction<z.output<z.ZodObject<Fields>>, ChangeFacts> },
): BrowserTool {
  const { action, ...head } = options;
  return browserTool({
    ...head,
    value: Change,
    async run(call, args) {
      const { value } = await callBrowser(call, action, args);
      return textResult(value, changeText(value));
    },
  });
}

export const oneTarget = (args: TargetArgs): string | undefined => findTargetProblem(args);
export const targetOrNone = (args: TargetArgs): string | undefined => findTargetProblem(args, { isOptional: true });
