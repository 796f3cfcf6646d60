import { interruptContext, removeContext, restartContext } from "../../interpreter/lasting/contexts.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet } from "../command.ts";
import { openStack } from "../compose/open-stack.ts";
import { printJson, printLine } from "../print.ts";

type Change = (sandbox: Sandbox, id: string, signal: AbortSignal) => Promise<unknown>;

const CHANGES: Readonly<Record<string, Change>> = {
  "context restart": restartContext,
  "context interrupt": interruptContext,
  "context remove": removeContext,
};

/** Restarts, interrupts or removes one context, as the command's name says. */
export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const [id = "", named = ""] = call.positionals;
  await using stack = await openStack(call, context);
  const sandbox = await stack.sandboxes.get(LOCAL, id);
  await CHANGES[call.spec.name]?.(sandbox, named, context.signal);
  if (isSet(call, "json")) printJson(context.stdout, { id: named });
  else printLine(context.stdout, named);
  return 0;
}
