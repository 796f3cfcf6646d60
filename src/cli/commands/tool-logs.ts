import { LOCAL } from "../../sandbox/sandbox.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet } from "../command.ts";
import { openStack } from "../compose/open-stack.ts";
import { plural, printJson, printLine } from "../print.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  await using stack = await openStack(call, context);
  const { stats, lastErrors } = await (await stack.userTools()).get(LOCAL, call.positionals[0] ?? "");
  const { stdout, stderr } = context;
  if (isSet(call, "json")) printJson(stdout, { stats, lastErrors });
  else {
    if (stack.config.url === undefined) printLine(stderr, "A server counts its own calls: ask it, with BELLJAR_URL");
    printLine(
      stdout,
      `${plural(stats.calls, "call")} since ${stats.since.toISOString()}, ${stats.errors} failed, ${Math.round(stats.averageMs)} ms on average`,
    );
    for (const { at, message } of lastErrors) printLine(stdout, `\n${at.toISOString()}\n${message}`);
  }
  return 0;
}
