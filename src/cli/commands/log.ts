import { LOCAL } from "../../sandbox/sandbox.ts";
import { coloursFor } from "../colours.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet, textOption } from "../command.ts";
import { openStack } from "../compose/open-stack.ts";
import { showPaged } from "../pager.ts";
import { printJson } from "../print.ts";
import { renderTimeLine } from "../render-time-line.ts";
import { parseCount } from "../values.ts";

const LINES = "100";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const lines = parseCount("lines", textOption(call, "lines") ?? LINES);
  await using stack = await openStack(call, context);
  const info = await stack.sandboxes.info(LOCAL, call.positionals[0] ?? "");
  const timeLine = await (await stack.sandboxes.get(LOCAL, info.id)).timeLine.list();
  if (isSet(call, "json")) printJson(context.stdout, timeLine);
  else await showPaged(context, renderTimeLine(timeLine, { colours: coloursFor(context.stdout, context.env), state: info.state, lines }));
  return 0;
}
