import type { NetworkPolicy } from "../../network/policy.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet, textOptions } from "../command.ts";
import { openStack } from "../compose/open-stack.ts";
import { editPolicy } from "../network-policy.ts";
import { printJson, printLine } from "../print.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  await using stack = await openStack(call, context);
  const [id = "", set] = call.positionals;
  const { network: current } = await stack.sandboxes.info(LOCAL, id);
  const edit = { ...(set !== undefined && { set }), allow: textOptions(call, "allow"), deny: textOptions(call, "deny") };
  const policy = editPolicy(current, edit);
  if (policy !== undefined) await (await stack.sandboxes.get(LOCAL, id)).setNetwork(policy);
  show(call, context, policy ?? current);
  return 0;
}

/** Prints one rule in each line, for scripts. */
function show(call: CommandCall, { stdout }: CommandContext, policy: NetworkPolicy): void {
  if (isSet(call, "json")) printJson(stdout, policy);
  else printLine(stdout, typeof policy === "string" ? policy : policy.allow.join("\n"));
}
