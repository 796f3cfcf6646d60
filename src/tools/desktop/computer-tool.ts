import * as z from "zod";
import { TurnsByKey } from "../../async/turns-by-key.ts";
import type { Accept } from "../../catalog/accept.ts";
import type { TextResult, Tool } from "../../catalog/tool.ts";
import { defineTool } from "../../catalog/tool.ts";
import { SANDBOX } from "./computer-arguments.ts";
import { type OpenDisplay, openDisplay } from "./on-display.ts";

interface ComputerTool<Fields extends z.ZodRawShape> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly fields: Fields;
  readonly accept?: Accept;
  readonly reads?: boolean;
  /** Default: the text of the result. */
  readonly value?: z.ZodType;
  readonly run: (display: OpenDisplay, args: z.output<z.ZodObject<Fields>>) => Promise<TextResult>;
}

/** Of the calls that use one display: keys of two of them would mix, and a click would land where the other one has moved. */
const turns = new TurnsByKey();

/** A tool that sees or uses the display of a sandbox. What is on it may act on anything. */
export function computerTool<Fields extends z.ZodRawShape>({
  fields,
  reads = false,
  value = z.string(),
  run,
  ...head
}: ComputerTool<Fields>): Tool {
  return defineTool({
    ...head,
    toolset: "desktop",
    annotations: { readOnlyHint: reads, destructiveHint: !reads, idempotentHint: reads, openWorldHint: true },
    input: z.strictObject({ ...fields, ...SANDBOX }),
    value,
    async run(context, given) {
      const { sandbox, ...args } = given as z.output<z.ZodObject<Fields>> & { readonly sandbox?: string };
      const display = await openDisplay({ context, sandbox });
      const use = () => run(display, args as z.output<z.ZodObject<Fields>>);
      return reads ? use() : turns.run(display.sandboxId, use, context.signal);
    },
  });
}
