import { LOCAL } from "../../sandbox/sandbox.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet } from "../command.ts";
import { openStack } from "../compose/open-stack.ts";
import { printJson, printLine } from "../print.ts";
import { withProgress } from "../progress.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  await using stack = await openStack(call, context);
  const tools = await stack.userTools();
  const testing = tools.test(LOCAL, call.positionals[0] ?? "", context.signal);
  const tested = await withProgress(context.stderr, "Running the tests", testing);
  const failed = tested.tests.filter(({ problem }) => problem !== undefined);
  if (isSet(call, "json")) printJson(context.stdout, tested);
  else {
    for (const { tool, problem } of tested.tests)
      printLine(context.stdout, problem === undefined ? `passed ${tool}` : `failed ${tool}: ${problem}`);
    printLine(context.stderr, `${tested.tests.length - failed.length} passed, ${failed.length} failed`);
  }
  return failed.length > 0 ? 1 : 0;
}
