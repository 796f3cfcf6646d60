import { LOCAL } from "../../sandbox/sandbox.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet } from "../command.ts";
import { openStack } from "../compose/open-stack.ts";
import { printJson, printLine } from "../print.ts";
import { withProgress } from "../progress.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const { stdout, stderr, signal } = context;
  const [id = "", point = ""] = call.positionals;
  await using stack = await openStack(call, context);
  const { timeLine } = await stack.sandboxes.get(LOCAL, id);
  const { sandbox, ...told } = await withProgress(stderr, "Rolling back", timeLine.rollback(point, signal));
  if (isSet(call, "json")) printJson(stdout, { id: sandbox.id, ...told });
  else {
    printLine(stdout, `${sandbox.id} is back at ${told.checkpoint}`);
    for (const one of told.ended) printLine(stderr, `Ended: ${one}`);
    for (const one of told.lost) printLine(stderr, `Not put back: ${one}`);
  }
  return 0;
}
