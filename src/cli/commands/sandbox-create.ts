import { LOCAL } from "../../sandbox/sandbox.ts";
import type { CreateOptions } from "../../sandbox/sandbox.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet, textOption, textOptions } from "../command.ts";
import { openStack, workspaceOption } from "../compose/open-stack.ts";
import { networkOption } from "../compose/configured-policy.ts";
import { printJson, printLine } from "../print.ts";
import { withProgress } from "../progress.ts";
import { parseSecretOptions } from "../values.ts";
import { parseCores, parseCount, parseDuration, parsePairs, parseSize } from "../values.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const options = { ...toCreateOptions(call, context), ...(await networkOption(call)) };
  await using stack = await openStack(call, context);
  const workspace = await workspaceOption(stack.config);
  const made = stack.sandboxes.create(LOCAL, { ...options, ...(workspace && { workspace }) }, context.signal);
  const sandbox = await withProgress(context.stderr, "Making a sandbox", made);
  if (isSet(call, "json")) printJson(context.stdout, { id: sandbox.id });
  else printLine(context.stdout, sandbox.id);
  return 0;
}

function toCreateOptions(call: CommandCall, { env }: CommandContext): CreateOptions {
  const option = <T>(name: string, parse: (option: string, text: string) => T): T | undefined => {
    const text = textOption(call, name);
    return text === undefined ? undefined : parse(name, text);
  };
  const limits = withoutUndefined({
    memoryBytes: option("memory", parseSize),
    cpus: option("cpus", parseCores),
    pids: option("pids", parseCount),
    diskBytes: option("disk", parseSize),
    openFiles: option("open-files", parseCount),
  });
  const secrets = textOptions(call, "secret");
  return withoutUndefined({
    runtime: textOption(call, "runtime"),
    template: textOption(call, "template"),
    ...(Object.keys(limits).length > 0 && { limits }),
    ...(isSet(call, "best-effort") && { bestEffort: true }),
    ...(isSet(call, "nested-filters") && { nestedFilters: true }),
    timeoutMs: option("timeout", parseDuration),
    env: parsePairs("env", textOptions(call, "env"), env),
    ...(secrets.length > 0 && { secrets: parseSecretOptions(secrets) }),
    metadata: parsePairs("metadata", textOptions(call, "metadata")),
  });
}

function withoutUndefined<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as T;
}
