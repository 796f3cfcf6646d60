import { LOCAL } from "../../sandbox/sandbox.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { openStack } from "../compose/open-stack.ts";
import { removeEach } from "../remove-each.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  await using stack = await openStack(call, context);
  const tools = await stack.userTools();
  return removeEach(call, context, (name) => tools.remove(LOCAL, name));
}
