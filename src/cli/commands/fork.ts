import { LOCAL } from "../../sandbox/sandbox.ts";
import type { ForkOptions } from "../../sandbox/sandbox.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet, textOption, textOptions } from "../command.ts";
import { networkOption } from "../compose/configured-policy.ts";
import { openStack } from "../compose/open-stack.ts";
import { findForkSource } from "../find-fork-source.ts";
import { namedLifetime, namedLimits, withoutUndefined } from "../limit-options.ts";
import { printJson, printLine, printLost } from "../print.ts";
import { withProgress } from "../progress.ts";
import { parseCount, parsePairs } from "../values.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const options = { ...toForkOptions(call, context), ...(await networkOption(call)) };
  await using stack = await openStack(call, context);
  const source = await findForkSource(stack.sandboxes, call.positionals[0] ?? "");
  const made = stack.sandboxes.snapshots.fork(LOCAL, source, options, context.signal);
  const forks = await withProgress(context.stderr, "Making forks", made);
  if (isSet(call, "json")) printJson(context.stdout, { ids: forks.map(({ id }) => id), lost: forks.lost });
  else {
    printLost(context.stderr, forks.lost);
    for (const { id } of forks) printLine(context.stdout, id);
  }
  return 0;
}

function toForkOptions(call: CommandCall, { env }: CommandContext): ForkOptions {
  const limits = namedLimits(call);
  const [count, variables, labels] = [textOption(call, "count"), textOptions(call, "env"), textOptions(call, "metadata")];
  return withoutUndefined({
    name: textOption(call, "name"),
    ...(count !== undefined && { count: parseCount("count", count) }),
    ...(Object.keys(limits).length > 0 && { limits }),
    timeoutMs: namedLifetime(call),
    ...(variables.length > 0 && { env: parsePairs("env", variables, env) }),
    ...(labels.length > 0 && { metadata: parsePairs("metadata", labels) }),
  });
}
