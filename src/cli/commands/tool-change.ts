import type { UnitLife } from "../../dynamic/unit-life.ts";
import type { UnitInfo } from "../../dynamic/wire/unit-schema.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet } from "../command.ts";
import { openStack } from "../compose/open-stack.ts";
import { printJson, printLine } from "../print.ts";
import { withProgress } from "../progress.ts";
import { tellState } from "../tell-tool-state.ts";
import { parseVersion } from "../tool-version.ts";

/** What changes who has which version of a tool. */
export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  await using stack = await openStack(call, context);
  const changing = change(call, await stack.userTools(), context.signal);
  const unit = await withProgress(context.stderr, "Changing the tool", changing);
  if (isSet(call, "json")) printJson(context.stdout, unit);
  else printLine(context.stdout, tellState(unit));
  return 0;
}

async function change(call: CommandCall, tools: UnitLife, signal: AbortSignal): Promise<UnitInfo> {
  const [name = "", version = ""] = call.positionals;
  switch (call.spec.name) {
    case "tool publish":
      return tools.publish(LOCAL, name, signal);
    case "tool rollback":
      return tools.rollback(LOCAL, name, parseVersion(version, `belljar ${call.spec.name} --help`));
    case "tool share":
      return tools.share(LOCAL, name, !isSet(call, "off"));
    default:
      return tools.setDisabled(LOCAL, name, call.spec.name === "tool disable");
  }
}
