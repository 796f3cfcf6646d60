import { LOCAL } from "../../sandbox/sandbox.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet } from "../command.ts";
import { openStack } from "../compose/open-stack.ts";
import { namedAction } from "../limit-options.ts";
import { formatWhen, printJson, printLine } from "../print.ts";
import { parseDuration } from "../values.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const [id = "", time = ""] = call.positionals;
  const timeoutMs = parseDuration("TIME", time);
  const action = namedAction(call);
  await using stack = await openStack(call, context);
  const sandbox = await stack.sandboxes.get(LOCAL, id);
  await sandbox.extend(timeoutMs, action);
  const deadline = (await sandbox.info()).deadline ?? new Date(Date.now() + timeoutMs);
  if (isSet(call, "json")) printJson(context.stdout, { id: sandbox.id, deadline });
  else printLine(context.stdout, `${sandbox.id} ends ${formatWhen(deadline)}`);
  return 0;
}
