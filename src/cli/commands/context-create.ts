import { createContext } from "../../interpreter/lasting/contexts.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet, textOption } from "../command.ts";
import { openStack } from "../compose/open-stack.ts";
import { printJson, printLine } from "../print.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  await using stack = await openStack(call, context);
  const sandbox = await stack.sandboxes.get(LOCAL, call.positionals[0] ?? "");
  const made = await createContext(sandbox, { language: textOption(call, "lang") ?? "python", cwd: textOption(call, "cwd") });
  if (isSet(call, "json")) printJson(context.stdout, made);
  else printLine(context.stdout, made.id);
  return 0;
}
