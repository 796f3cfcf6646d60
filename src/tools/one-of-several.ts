import type * as z from "zod";
import type { Tool, ToolContext, ToolResult } from "../catalog/tool.ts";
import { zodSchema } from "../catalog/tool-schema.ts";

type Fields = Readonly<Record<string, unknown>>;

interface OneOfSeveral<Input extends z.ZodType> extends Omit<Tool, "input" | "run" | "output" | "value" | "delegates" | "annotations"> {
  readonly input: Input;
  /** The tool that does it, and its arguments. */
  readonly toCall: (args: z.output<Input>) => { readonly name: string; readonly args: Fields };
}

/** One tool in the list for several that are not shown: it does what the tool does that it calls, and no more. */
export function defineOneOfSeveral<Input extends z.ZodType>({ input, toCall, ...tool }: OneOfSeveral<Input>): Tool<z.output<Input>> {
  return {
    ...tool,
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    input: zodSchema(input),
    delegates: true,
    run(context: ToolContext, args: z.output<Input>): Promise<ToolResult> {
      const { name, args: inner } = toCall(args);
      return context.call(name, inner);
    },
  };
}
