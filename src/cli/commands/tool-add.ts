import { parse } from "node:path";
import { LOCAL } from "../../sandbox/sandbox.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet, textOption } from "../command.ts";
import { openStack } from "../compose/open-stack.ts";
import { printJson, printLine } from "../print.ts";
import { withProgress } from "../progress.ts";
import { namingFile, readCode, readOptions } from "../tool-version-options.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const [file = ""] = call.positionals;
  const name = textOption(call, "name") ?? defaultName(file);
  const spec = { ...(await readCode(call, file)), ...(await readOptions(call)) };
  await using stack = await openStack(call, context);
  const tools = await stack.userTools();
  const adding = tools.add(LOCAL, { name, spec }, context.signal, { publish: !isSet(call, "draft") });
  const unit = await namingFile(file, withProgress(context.stderr, "Reading the tool", adding));
  if (isSet(call, "json")) printJson(context.stdout, unit);
  else printLine(context.stdout, unit.name);
  return 0;
}

/** What need not name itself is called as its file. Python's functions have names. */
function defaultName(file: string): string | undefined {
  const { name, ext } = parse(file);
  return ext === ".py" ? undefined : name;
}
