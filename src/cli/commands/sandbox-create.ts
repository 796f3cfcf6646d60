import { LOCAL } from "../../sandbox/sandbox.ts";
import type { CreateOptions } from "../../sandbox/sandbox.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet, textOption, textOptions } from "../command.ts";
import { openStack, workspaceOption } from "../compose/open-stack.ts";
import { networkOption } from "../compose/configured-policy.ts";
import { namedAction, namedAutoCheckpoint, namedIdle, namedLifetime, namedLimits, withoutUndefined } from "../limit-options.ts";
import { printJson, printLine, printLost } from "../print.ts";
import { withProgress } from "../progress.ts";
import { parsePairs, parseSecretOptions } from "../values.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const options = { ...toCreateOptions(call, context), ...(await networkOption(call)) };
  await using stack = await openStack(call, context);
  const workspace = await workspaceOption(stack.config);
  const project = workspace?.path ?? process.cwd();
  const made = stack.sandboxes.create(LOCAL, { ...options, project, ...(workspace && { workspace }) }, context.signal);
  const sandbox = await withProgress(context.stderr, "Making a sandbox", made);
  const { id, lost } = sandbox;
  if (isSet(call, "json")) printJson(context.stdout, { id, ...(lost && { lost }) });
  else {
    printLost(context.stderr, lost);
    printLine(context.stdout, id);
  }
  return 0;
}

function toCreateOptions(call: CommandCall, { env }: CommandContext): CreateOptions {
  const limits = namedLimits(call);
  const secrets = textOptions(call, "secret");
  return withoutUndefined({
    name: textOption(call, "name"),
    runtime: textOption(call, "runtime"),
    template: textOption(call, "template"),
    ...(Object.keys(limits).length > 0 && { limits }),
    ...(isSet(call, "best-effort") && { bestEffort: true }),
    ...(isSet(call, "no-root") && { root: false }),
    ...(isSet(call, "nested-filters") && { nestedFilters: true }),
    timeoutMs: namedLifetime(call),
    onDeadline: namedAction(call),
    autoCheckpoint: namedAutoCheckpoint(call),
    pauseIdleMs: namedIdle(call),
    env: parsePairs("env", textOptions(call, "env"), env),
    ...(secrets.length > 0 && { secrets: parseSecretOptions(secrets, `belljar ${call.spec.name} --help`) }),
    metadata: parsePairs("metadata", textOptions(call, "metadata")),
  });
}
