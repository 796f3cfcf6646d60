import { LOCAL } from "../../sandbox/sandbox.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet } from "../command.ts";
import { openStack } from "../compose/open-stack.ts";
import { printJson, printLine } from "../print.ts";
import { withProgress } from "../progress.ts";

export async function run(call: CommandCall, { stdout, ...context }: CommandContext): Promise<number> {
  await using stack = await openStack(call, { stdout, ...context });
  const started: string[] = [];
  for (const id of call.positionals) {
    const sandbox = await stack.sandboxes.get(LOCAL, id);
    await withProgress(context.stderr, `Starting ${sandbox.id}`, sandbox.start(context.signal));
    started.push(sandbox.id);
    if (!isSet(call, "json")) printLine(stdout, sandbox.id);
  }
  if (isSet(call, "json")) printJson(stdout, { started });
  return 0;
}
